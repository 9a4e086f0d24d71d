CREATE TABLE `server_replicas` (
	`server_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`cell_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`image_id` char(36) character set ascii collate ascii_bin,
	`image_at` datetime(3),
	`last_error` varchar(255),
	`next_at` datetime(3) NOT NULL,
	CONSTRAINT `server_replicas_server_id_cell_id_pk` PRIMARY KEY(`server_id`,`cell_id`)
);
--> statement-breakpoint
ALTER TABLE `server_protections` ADD `to_cell_id` char(36) character set ascii collate ascii_bin;--> statement-breakpoint
CREATE INDEX `server_replicas_next` ON `server_replicas` (`next_at`);