// Reads a card with a library that others wrote, and prints what it found: node read_card.mjs FILE
import { readFileSync } from "node:fs";
import { CharacterCard } from "@lenml/char-card-reader";

const content = readFileSync(process.argv[2]);
const isJson = process.argv[2].endsWith(".json");
const card = isJson
  ? CharacterCard.from_json(JSON.parse(content.toString("utf8")))
  : await CharacterCard.from_file(content);
console.log(JSON.stringify(card.toSpecV3()));
