BEGIN TRANSACTION;
CREATE TABLE api_keys (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	owner_id BIGINT NOT NULL, 
	provider TEXT NOT NULL, 
	token TEXT NOT NULL, 
	label TEXT NOT NULL, 
	rest_until DATETIME
, scope TEXT DEFAULT 'server' NOT NULL);
INSERT INTO "api_keys" VALUES(1,1,'openai','gAAAAABq-4HWkrMZPTqTee4sNR31X1chimdnt80clUh5CfL370TTcx8aBnEcsLB_i5oD9l6fPEbWP6M9BhSxIXBDrlWQWmZmHU68eYD6xbodgWZpL0ab4ak=','shared',NULL,'server');
INSERT INTO "api_keys" VALUES(2,3,'openai','gAAAAABq-4HW1Ha5t2yRlYOf1VHOfMpI2UEodpVfL6Od3BnAh_Vj9FFjcvQLXsxd2PK-MId9DR_f9KVScm7ZfoZ03z0YJvmjTw==','mine',NULL,'direct');
CREATE TABLE exchanges (
	id INTEGER NOT NULL, 
	channel_id BIGINT NOT NULL, 
	user_id BIGINT NOT NULL, 
	asked TEXT NOT NULL, 
	answered TEXT NOT NULL, 
	details TEXT NOT NULL, 
	at DATETIME NOT NULL, 
	expires_at DATETIME NOT NULL, persona TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_exchanges PRIMARY KEY (id)
);
INSERT INTO "exchanges" VALUES(1,2,3,'What is tea?','A drink.','details','2026-11-15 12:00:00.000000','2126-10-22 12:00:00.000000','Ren');
CREATE TABLE facts (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	server_id BIGINT NOT NULL, 
	user_id BIGINT, 
	text TEXT NOT NULL, 
	at DATETIME NOT NULL
);
INSERT INTO "facts" VALUES(1,1,3,'likes tea','2026-11-15 12:00:00.000000');
INSERT INTO "facts" VALUES(2,1,NULL,'the server is about tea','2026-11-15 12:00:00.000000');
CREATE TABLE instances (
	name TEXT NOT NULL, 
	alive_at DATETIME NOT NULL, 
	CONSTRAINT pk_instances PRIMARY KEY (name)
);
INSERT INTO "instances" VALUES('main','2026-11-15 12:00:00.000000');
CREATE TABLE journal_posts (
	"key" TEXT NOT NULL, 
	nonce TEXT NOT NULL, 
	number BIGINT NOT NULL, 
	body JSON NOT NULL, 
	newest_id BIGINT NOT NULL, 
	state TEXT NOT NULL, 
	message_id BIGINT, 
	CONSTRAINT pk_journal_posts PRIMARY KEY ("key", nonce), 
	CONSTRAINT fk_journal_posts_key FOREIGN KEY("key") REFERENCES journal_streams ("key") ON DELETE CASCADE
);
INSERT INTO "journal_posts" VALUES('k','k-1',1,'{"content": "A drink."}',9,'intended',NULL);
CREATE TABLE journal_streams (
	"key" TEXT NOT NULL, 
	instance TEXT NOT NULL, 
	server_id BIGINT NOT NULL, 
	channel_id BIGINT NOT NULL, 
	user_id BIGINT NOT NULL, 
	answering_id BIGINT, 
	persona TEXT NOT NULL, 
	began DATETIME NOT NULL, 
	CONSTRAINT pk_journal_streams PRIMARY KEY ("key")
);
INSERT INTO "journal_streams" VALUES('k','main',1,2,3,12,'Ren','2026-11-15 12:00:00.000000');
CREATE TABLE "models" (
	id INTEGER NOT NULL, 
	owner_id BIGINT NOT NULL, 
	position BIGINT NOT NULL, 
	provider TEXT NOT NULL, 
	model TEXT NOT NULL, 
	base_url TEXT, 
	params JSON NOT NULL, 
	scope TEXT DEFAULT 'server' NOT NULL, 
	CONSTRAINT pk_models PRIMARY KEY (id), 
	CONSTRAINT uq_models_scope_owner_id_position UNIQUE (scope, owner_id, position)
);
INSERT INTO "models" VALUES(1,1,0,'openai','big',NULL,'{"temperature": 0.5}','server');
INSERT INTO "models" VALUES(2,1,1,'anthropic','small',NULL,'{}','server');
CREATE TABLE oshaberi_schema (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT oshaberi_schema_pkc PRIMARY KEY (version_num)
);
INSERT INTO "oshaberi_schema" VALUES('0004');
CREATE TABLE personas (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	server_id BIGINT NOT NULL, 
	name TEXT NOT NULL, 
	name_key TEXT NOT NULL, 
	prompt TEXT NOT NULL, 
	aliases JSON NOT NULL, 
	triggers JSON NOT NULL, 
	avatar_url TEXT, 
	samples JSON NOT NULL, 
	is_default BOOLEAN NOT NULL, 
	CONSTRAINT uq_personas_server_id_name_key UNIQUE (server_id, name_key)
);
INSERT INTO "personas" VALUES(1,1,'Ren','ren','You are Ren, a fox.','["fox"]','["\u72d0"]','https://x.test/ren.png','[["hi", "yip"]]',1);
INSERT INTO "personas" VALUES(2,0,'Zoë 🦊','zoë 🦊','','[]','[]',NULL,'[]',0);
CREATE TABLE quota_notices (
	day DATE NOT NULL, 
	quota TEXT NOT NULL, 
	subject_id BIGINT NOT NULL, 
	channel_id BIGINT NOT NULL, 
	CONSTRAINT pk_quota_notices PRIMARY KEY (day, quota, subject_id, channel_id)
);
INSERT INTO "quota_notices" VALUES('2026-11-15','user',3,2);
CREATE TABLE seen_messages (
	channel_id BIGINT NOT NULL, 
	message_id BIGINT NOT NULL, 
	CONSTRAINT pk_seen_messages PRIMARY KEY (channel_id)
);
INSERT INTO "seen_messages" VALUES(2,12);
CREATE TABLE server_settings (
	server_id BIGINT NOT NULL, 
	"key" TEXT NOT NULL, 
	value JSON NOT NULL, 
	CONSTRAINT pk_server_settings PRIMARY KEY (server_id, "key")
);
INSERT INTO "server_settings" VALUES(1,'humanizer_degree',3);
INSERT INTO "server_settings" VALUES(1,'llm_stop_strings','["User:"]');
CREATE TABLE sprite_messages (
	message_id BIGINT NOT NULL, 
	channel_id BIGINT NOT NULL, 
	persona TEXT NOT NULL, 
	sprite TEXT NOT NULL, 
	at DATETIME NOT NULL, 
	CONSTRAINT pk_sprite_messages PRIMARY KEY (message_id)
);
INSERT INTO "sprite_messages" VALUES(10,2,'Ren','happy','2026-11-15 12:00:00.000000');
CREATE TABLE sprites (
	id INTEGER NOT NULL, 
	persona_id BIGINT NOT NULL, 
	name TEXT NOT NULL, 
	name_key TEXT NOT NULL, 
	avatar_url TEXT, 
	is_identity BOOLEAN NOT NULL, 
	CONSTRAINT pk_sprites PRIMARY KEY (id), 
	CONSTRAINT fk_sprites_persona_id FOREIGN KEY(persona_id) REFERENCES personas (id) ON DELETE CASCADE, 
	CONSTRAINT uq_sprites_persona_id_name_key UNIQUE (persona_id, name_key)
);
INSERT INTO "sprites" VALUES(1,1,'happy','happy','https://x.test/happy.png',0);
CREATE TABLE table_sources (
	message_id BIGINT NOT NULL, 
	channel_id BIGINT NOT NULL, 
	source TEXT NOT NULL, 
	at DATETIME NOT NULL, 
	CONSTRAINT pk_table_sources PRIMARY KEY (message_id)
);
INSERT INTO "table_sources" VALUES(11,2,'| a |
|---|
| 1 |','2026-11-15 12:00:00.000000');
CREATE TABLE turn_messages (
	message_id BIGINT NOT NULL, 
	turn_id BIGINT NOT NULL, 
	CONSTRAINT pk_turn_messages PRIMARY KEY (message_id), 
	CONSTRAINT fk_turn_messages_turn_id FOREIGN KEY(turn_id) REFERENCES turns (id) ON DELETE CASCADE
);
INSERT INTO "turn_messages" VALUES(13,1);
INSERT INTO "turn_messages" VALUES(14,1);
CREATE TABLE turns (
	id INTEGER NOT NULL, 
	channel_id BIGINT NOT NULL, 
	server_id BIGINT NOT NULL, 
	user_id BIGINT NOT NULL, 
	asked_id BIGINT, 
	persona TEXT NOT NULL, 
	message_ids JSON NOT NULL, 
	status TEXT NOT NULL, 
	undelivered TEXT NOT NULL, 
	why TEXT NOT NULL, 
	at DATETIME NOT NULL, answer_id BIGINT, 
	CONSTRAINT pk_turns PRIMARY KEY (id)
);
INSERT INTO "turns" VALUES(1,2,1,3,12,'Ren','[13, 14]','completed','','asked by name','2026-11-15 12:00:00.000000',NULL);
CREATE TABLE usage (
	server_id BIGINT NOT NULL, 
	provider TEXT NOT NULL, 
	model TEXT NOT NULL, 
	requests BIGINT NOT NULL, 
	input_tokens BIGINT NOT NULL, 
	output_tokens BIGINT NOT NULL, 
	CONSTRAINT pk_usage PRIMARY KEY (server_id, provider, model)
);
INSERT INTO "usage" VALUES(1,'openai','big',1,100,20);
CREATE TABLE usage_counts (
	day DATE NOT NULL, 
	purse TEXT NOT NULL, 
	server_id BIGINT NOT NULL, 
	subject TEXT NOT NULL, 
	subject_id BIGINT NOT NULL, 
	requests BIGINT NOT NULL, 
	input_tokens BIGINT NOT NULL, 
	output_tokens BIGINT NOT NULL, 
	cost_micros BIGINT NOT NULL, 
	CONSTRAINT pk_usage_counts PRIMARY KEY (day, purse, server_id, subject, subject_id)
);
INSERT INTO "usage_counts" VALUES('2026-11-15','operator',0,'user',3,1,100,20,5);
INSERT INTO "usage_counts" VALUES('2026-11-15','server',1,'user',3,1,100,20,5);
CREATE INDEX ix_sprite_messages_channel_id_message_id ON sprite_messages (channel_id, message_id);
CREATE INDEX ix_sprite_messages_at ON sprite_messages (at);
CREATE INDEX ix_table_sources_channel_id_message_id ON table_sources (channel_id, message_id);
CREATE INDEX ix_table_sources_at ON table_sources (at);
CREATE INDEX ix_exchanges_channel_id_id ON exchanges (channel_id, id);
CREATE INDEX ix_exchanges_user_id ON exchanges (user_id);
CREATE INDEX ix_exchanges_expires_at ON exchanges (expires_at);
CREATE INDEX ix_facts_server_id_user_id ON facts (server_id, user_id);
CREATE INDEX ix_journal_streams_instance ON journal_streams (instance);
CREATE INDEX ix_journal_streams_began ON journal_streams (began);
CREATE INDEX ix_turns_channel_id_id ON turns (channel_id, id);
CREATE INDEX ix_turns_at ON turns (at);
CREATE INDEX ix_turn_messages_turn_id ON turn_messages (turn_id);
CREATE INDEX ix_api_keys_scope_owner_id_provider ON api_keys (scope, owner_id, provider);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('personas',2);
INSERT INTO "sqlite_sequence" VALUES('api_keys',2);
INSERT INTO "sqlite_sequence" VALUES('facts',2);
COMMIT;
