CREATE TABLE `volume_transfers` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`volume_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(255),
	`key_hash` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`takes_snapshots` boolean NOT NULL,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `volume_transfers_id` PRIMARY KEY(`id`),
	CONSTRAINT `volume_transfers_volume` UNIQUE(`volume_id`)
);
--> statement-breakpoint
CREATE INDEX `volume_transfers_project` ON `volume_transfers` (`project_id`,`created_at`);