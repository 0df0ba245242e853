/** What html-validate asks of every page, and what it need not ask, with the reasons. */
export default {
  root: true,
  extends: ["html-validate:recommended"],
  rules: {
    // either case is valid; ours is lower
    "doctype-style": ["error", { style: "lowercase" }],
    // the sections are one list of checkboxes, ordered by buttons that tell which of them moves up
    "form-dup-name": ["error", { shared: ["radio", "checkbox", "button", "reset", "submit"] }],
    // a <select> has no text field (listbox); a <pre> that scrolls is reached and named (region)
    "prefer-native-element": ["error", { exclude: ["listbox", "region"] }],
  },
};
