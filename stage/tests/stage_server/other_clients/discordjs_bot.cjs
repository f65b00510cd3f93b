// A bot that uses discord.js: a message, a slash command, a button. Run by Node.

const {
  ActionRowBuilder,
  ButtonBuilder,
  ButtonStyle,
  Client,
  Events,
  GatewayIntentBits,
  SlashCommandBuilder,
} = require("discord.js");

const client = new Client({
  intents: [
    GatewayIntentBits.Guilds,
    GatewayIntentBits.GuildMessages,
    GatewayIntentBits.MessageContent,
  ],
  rest: { api: `${process.env.DISCORD_STAGE_URL}/api` },
});

client.once(Events.ClientReady, async () => {
  const add = new SlashCommandBuilder()
    .setName("add")
    .setDescription("Adds two numbers")
    .addIntegerOption((o) => o.setName("first").setDescription("first").setRequired(true))
    .addIntegerOption((o) => o.setName("second").setDescription("second").setRequired(true));
  await client.application.commands.set([add]);
  const channel = client.channels.cache.find((c) => c.name === "general");
  await channel.send("ready");
});

client.on(Events.MessageCreate, async (message) => {
  if (message.content === "!ping") await message.reply("pong");
  if (message.content === "!button") {
    const button = new ButtonBuilder()
      .setCustomId("press")
      .setLabel("Press")
      .setStyle(ButtonStyle.Primary);
    const row = new ActionRowBuilder().addComponents(button);
    await message.channel.send({ content: "press it", components: [row] });
  }
});

client.on(Events.InteractionCreate, async (interaction) => {
  if (interaction.isChatInputCommand()) {
    const { options } = interaction;
    const total = options.getInteger("first") + options.getInteger("second");
    await interaction.reply(`sum ${total}`);
  }
  if (interaction.isButton()) await interaction.update({ content: "pressed", components: [] });
});

client.login(process.env.DISCORD_TOKEN);
