"""List the findings that are accepted, each with its reason.

An answer that matches no finding any more is a finding itself. docs/accessibility.md shows them.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """An engine's finding about one element; `held` are the selectors of `ANSWERED` around it."""

    engine: str
    kind: str
    rule: str
    message: str
    markup: str
    held: list[str]

    @property
    def answer(self) -> "Answer | None":
        """The entry of `ANSWERED` that it is answered by, if any."""
        return next((one for one in ANSWERED if one.answers(self)), None)


@dataclass(frozen=True)
class Answer:
    """A rule that finds what is none, where it does so ("" for everywhere), and why."""

    engine: str
    rule: str
    where: str
    reason: str

    def answers(self, finding: Finding) -> bool:
        same = self.engine == finding.engine and self.rule in finding.rule
        return same and (not self.where or self.where in finding.held)


_HIDDEN = "text for a voice only: nobody sees its colour"
_CSS = "valid CSS that the checker does not know"
ANSWERED = (
    Answer("axe", "frame-tested", "#widget", "the page in the preview is checked separately"),
    Answer(
        "axe",
        "color-contrast",
        ".scroll",
        "cells scrolled out of sight, which axe does not measure and HTML_CodeSniffer does",
    ),
    Answer("axe", "color-contrast", ".map", "on grounds of its own: tests measure these colours"),
    Answer("axe", "color-contrast", "svg:has(> #t)", "text of the static card: a test measures it"),
    Answer("IBM", "style_color_misuse", "", "tests: rain, certainty and tiers are shown in words"),
    Answer("IBM", "style_highcontrast_visible", "", "tests with forced colours"),
    Answer("IBM", "style_viewport_resizable", "", "tests with text of 200 %"),
    Answer("IBM", "style_focus_visible", "", "tests look at the outline of what has the focus"),
    Answer("IBM", "element_tabbable_unobscured", "", "tests: nothing covers what has the focus"),
    Answer("IBM", "element_tabbable_visible", ".skip", "it appears once it has the focus"),
    Answer(
        "IBM",
        "element_tabbable_role_valid",
        "pre, .scroll",
        "regions that scroll must be reached by keyboard in Safari too",
    ),
    Answer("IBM", "list_structure_proper", "dl", "HTML allows groups of terms in <div>"),
    Answer(
        "IBM",
        "text_sensory_misuse",
        "",
        "English words such as right or big, in sentences that do not say where to look",
    ),
    Answer("IBM", "blockquote_cite_exists", "blockquote", "a text to paste, ours to give"),
    Answer(
        "IBM", "text_block_heading", ".opening p, .light, .line", "a sentence below its heading"
    ),
    Answer("IBM", "a_target_warning", "", "tests: each link says so in the page's own language"),
    Answer("IBM", "input_label_visible", ".accents", "the colour itself, below the word Accent"),
    Answer("IBM", "input_label_visible", "#sections", "an arrow, beside the section that it moves"),
    Answer("IBM", "input_label_visible", "select", "a label with its id stands above it"),
    Answer("IBM", "input_fields_grouped", "form", "each field has a label; groups are fieldsets"),
    Answer("IBM", "input_checkboxes_grouped", "#plain", "a choice about the code, by itself"),
    Answer("IBM", "select_options_grouped", "#lang", "languages in the order of their names"),
    Answer("IBM", "select_options_grouped", "#days", "numbers in their order"),
    Answer("IBM", "aria_keyboard_handler_exists", "#place", "tests pick a place by keyboard"),
    Answer("IBM", "frame_src_valid", "#widget", "the page in the preview is checked separately"),
    Answer("HTML_CodeSniffer", "G18.Abs", ".vh, .spoken, caption", _HIDDEN),
    Answer("HTML_CodeSniffer", "H48", "p", "links in a sentence are not a menu"),
    Answer("HTML_CodeSniffer", "H85.2", "select", "two units, and languages by name"),
    Answer(
        "HTML_CodeSniffer",
        "H91.Select.Value",
        "select",
        "the value is empty where nothing is chosen; its text is not",
    ),
    Answer(
        "HTML_CodeSniffer", "1_4_10.C32", "", "tests: only code and tables scroll, by themselves"
    ),
    Answer("html-validate", "no-inline-style", "snippet", "what a host pastes has no style sheet"),
    Answer("Nu checker", "Unrecognized at-rule “@container”", "", _CSS),
    Answer("Nu checker", "Property “container-type” doesn't exist", "", _CSS),
    Answer("Nu checker", "Property “vector-effect” doesn't exist", "", _CSS),
    Answer("Nu checker", "CSS: “height”: Character s", "", f"{_CSS} (calc-size)"),
    Answer("Nu checker", "This document appears to be written in", "", "a guess, from names alone"),
)
