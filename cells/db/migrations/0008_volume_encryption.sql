CREATE TABLE `volume_keys` (
	`volume_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`sealed` text NOT NULL,
	`server_id` char(36) character set ascii collate ascii_bin,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `volume_keys_volume_id` PRIMARY KEY(`volume_id`)
);
--> statement-breakpoint
ALTER TABLE `stores` ADD `encrypts` boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX `volume_keys_server` ON `volume_keys` (`server_id`);