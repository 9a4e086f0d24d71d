CREATE TABLE `server_moves` (
	`operation_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`to_cell_id` char(36) character set ascii collate ascii_bin,
	`former_state` varchar(8) character set ascii collate ascii_bin NOT NULL,
	`step` varchar(10) character set ascii collate ascii_bin NOT NULL,
	`step_at` datetime(3) NOT NULL,
	`step_request_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`is_cancelled` boolean NOT NULL DEFAULT false,
	`failure` text,
	CONSTRAINT `server_moves_operation_id` PRIMARY KEY(`operation_id`)
);
--> statement-breakpoint
ALTER TABLE `operations` ADD `to_other_cells` boolean DEFAULT false NOT NULL;