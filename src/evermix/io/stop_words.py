"""Function words of English, which say nothing of the subject of a text.

The English stop words of scikit-learn hold these, and also words that matter in some texts, such as
amount, bill, call, empty, fire, full and system.
"""

_GROUPS = {
    "determiners": """
        a an the this that these those each every either neither some any no all both few several
        such another other others same own""",
    "pronouns": """
        i me my mine myself you your yours yourself yourselves he him his himself she her hers
        herself it its itself we us our ours ourselves they them their theirs themselves who whom
        whose which what whoever whatever whichever someone somebody something anyone anybody
        anything everyone everybody everything nobody nothing none""",
    "auxiliaries": """
        am is are was were be been being have has had having do does did doing can could may might
        must shall should will would cannot""",
    "auxiliaries with an apostrophe": """
        don doesn didn isn aren wasn weren hasn haven hadn couldn shouldn wouldn mustn ain ll ve re
        cant dont doesnt didnt isnt""",
    "prepositions": """
        of in on at by for with from to into onto upon over under above below between among amongst
        through throughout during before after since until till within without about against across
        along around behind beside besides beyond near off out up down per via toward towards""",
    "conjunctions": """
        and or but nor so yet if then else than as because although though while whereas whether
        unless""",
    "adverbs": """
        not only also too very just more most less least much many quite rather really even ever
        never always often sometimes already still again once now here there where when why how
        however therefore thus hence otherwise instead perhaps maybe almost etc eg ie""",
}
FUNCTION_WORDS = frozenset(word for group in _GROUPS.values() for word in group.split())
