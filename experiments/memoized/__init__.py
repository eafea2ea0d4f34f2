"""The experiments of Hughes and Sudderth (2013), memoized variational Bayes, one script each."""
