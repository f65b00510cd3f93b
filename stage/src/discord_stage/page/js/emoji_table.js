// Common emoji with their names, for the picker and for `:name:` while typing.

const GROUPS = {
  Faces:
    "😀 grinning 😄 smile 😁 grin 😂 joy 🤣 rofl 😊 blush 🙂 slight_smile 😉 wink 😍 heart_eyes 🥰 smiling_hearts 😘 kissing_heart 😋 yum 😜 winky_tongue 🤔 thinking 🤨 raised_eyebrow 😐 neutral_face 😏 smirk 🙄 rolling_eyes 😬 grimacing 😴 sleeping 😎 sunglasses 🤓 nerd 🥳 partying 😮 open_mouth 😳 flushed 🥺 pleading 😢 cry 😭 sob 😱 scream 😡 rage 🤯 mind_blown 😇 innocent 🤗 hugging 🫡 saluting 💀 skull 👻 ghost 🤖 robot 👀 eyes",
  Hands:
    "👍 thumbsup 👎 thumbsdown 👏 clap 🙌 raised_hands 🙏 pray 👋 wave 🤝 handshake 💪 muscle ✌️ v 🤞 fingers_crossed 👌 ok_hand 🫶 heart_hands ✍️ writing_hand",
  Signs:
    "❤️ heart 🧡 orange_heart 💛 yellow_heart 💚 green_heart 💙 blue_heart 💜 purple_heart 💔 broken_heart 🔥 fire ✨ sparkles ⭐ star 🎉 tada 🎊 confetti 💯 100 ✅ white_check_mark ❌ x ❓ question ❗ exclamation ⚠️ warning 🚀 rocket 💡 bulb 📌 pushpin 🔔 bell ⏳ hourglass ♻️ recycle",
  Things:
    "☕ coffee 🍵 tea 🍕 pizza 🍰 cake 🍎 apple 🍣 sushi 🐱 cat 🐶 dog 🦊 fox 🐼 panda 🐸 frog 🦀 crab 🐍 snake 🌸 cherry_blossom 🌻 sunflower 🌈 rainbow ☀️ sunny 🌙 moon 🌍 earth ⚽ soccer 🎮 video_game 🎵 musical_note 🎨 art 📚 books 💻 computer 🐛 bug 🔧 wrench 🎁 gift 🏆 trophy",
};

export const EMOJI_GROUPS = Object.entries(GROUPS).map(([title, text]) => {
  const parts = text.split(" ");
  const emoji = [];
  for (let i = 0; i < parts.length; i += 2) emoji.push({ sign: parts[i], name: parts[i + 1] });
  return { title, emoji };
});

export const BY_NAME = new Map(
  EMOJI_GROUPS.flatMap((group) => group.emoji).map(({ name, sign }) => [name, sign]),
);
