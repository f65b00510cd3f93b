// Snowflakes are texts: a number of JavaScript cannot hold them.

export function compareIds(a, b) {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}
