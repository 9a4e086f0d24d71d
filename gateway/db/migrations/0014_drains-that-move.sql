CREATE TABLE `drain_moves` (
	`operation_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`server_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`state` varchar(8) character set ascii collate ascii_bin NOT NULL,
	`method` varchar(8) character set ascii collate ascii_bin,
	`tries` int NOT NULL,
	`reason` text,
	`request_id` varchar(64) character set ascii collate ascii_bin,
	`not_before` datetime(3),
	`started_at` datetime(3),
	`ended_at` datetime(3),
	CONSTRAINT `drain_moves_operation_id_server_id_pk` PRIMARY KEY(`operation_id`,`server_id`)
);
--> statement-breakpoint
ALTER TABLE `operations` ADD `moves_servers` boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `operations` ADD `parallel` int DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE `operations` ADD `live_only` boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `operations` ADD `deadline_at` datetime(3);--> statement-breakpoint
CREATE INDEX `drain_moves_state` ON `drain_moves` (`state`);