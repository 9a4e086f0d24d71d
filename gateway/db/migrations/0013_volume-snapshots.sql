CREATE TABLE `volume_snapshots` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`user_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`volume_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(255),
	`description` varchar(255),
	`metadata` json NOT NULL,
	`type_id` char(36) character set ascii collate ascii_bin,
	`size_gb` int NOT NULL,
	`status` varchar(20) character set ascii collate ascii_bin NOT NULL,
	`is_deleting` boolean NOT NULL DEFAULT false,
	`cell_id` char(36) character set ascii collate ascii_bin,
	`cell_version` int NOT NULL DEFAULT 0,
	`fault` text,
	`saga_id` char(36) character set ascii collate ascii_bin,
	`revision` int NOT NULL DEFAULT 0,
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3),
	`changed_at` datetime(3) NOT NULL,
	CONSTRAINT `volume_snapshots_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE INDEX `volume_snapshots_project` ON `volume_snapshots` (`project_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `volume_snapshots_volume` ON `volume_snapshots` (`volume_id`);--> statement-breakpoint
CREATE INDEX `volume_snapshots_cell` ON `volume_snapshots` (`cell_id`);--> statement-breakpoint
CREATE INDEX `volume_snapshots_deleting` ON `volume_snapshots` (`is_deleting`);--> statement-breakpoint
CREATE INDEX `volume_snapshots_saga` ON `volume_snapshots` (`saga_id`);