CREATE TABLE `volume_snapshot_answers` (
	`snapshot_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`outcome` varchar(16) character set ascii collate ascii_bin NOT NULL,
	`reason` text,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `volume_snapshot_answers_snapshot_id` PRIMARY KEY(`snapshot_id`)
);
--> statement-breakpoint
CREATE TABLE `volume_snapshots` (
	`snapshot_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`volume_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`version` int NOT NULL,
	`state` varchar(16) character set ascii collate ascii_bin NOT NULL,
	`size_gb` int NOT NULL,
	`store_id` varchar(255) character set ascii collate ascii_bin NOT NULL,
	`host_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`fault` text,
	`saga_id` char(36) character set ascii collate ascii_bin,
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3) NOT NULL,
	CONSTRAINT `volume_snapshots_snapshot_id` PRIMARY KEY(`snapshot_id`)
);
--> statement-breakpoint
CREATE INDEX `volume_snapshot_answers_created` ON `volume_snapshot_answers` (`created_at`);--> statement-breakpoint
CREATE INDEX `volume_snapshots_volume` ON `volume_snapshots` (`volume_id`);