export const words = "nothing yet";
