CREATE TABLE `volume_moves` (
	`operation_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`volume_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`to_cell_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`attempt` int NOT NULL,
	`is_cancelled` boolean NOT NULL DEFAULT false,
	`left_cell_id` char(36) character set ascii collate ascii_bin,
	`left_attempt` int,
	CONSTRAINT `volume_moves_operation_id` PRIMARY KEY(`operation_id`)
);
--> statement-breakpoint
ALTER TABLE `images` MODIFY COLUMN `snapshot_for` varchar(16) character set ascii collate ascii_bin;--> statement-breakpoint
ALTER TABLE `volumes` ADD `last_attempt` int DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `volume_moves_volume` ON `volume_moves` (`volume_id`);--> statement-breakpoint
CREATE INDEX `volume_moves_left` ON `volume_moves` (`left_cell_id`);