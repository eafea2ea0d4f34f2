"use strict";
// Some systems name a language that Intl does not know (en-US@posix), with which uPlot cannot start.
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", {value: "en", configurable: true});
}
