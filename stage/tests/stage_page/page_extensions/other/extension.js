// A second panel.

export function extend(page) {
  page.addPanel({ name: "other", title: "Other", icon: "file", mount: (root) => root.append("here") });
}
