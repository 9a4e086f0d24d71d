CREATE TABLE `server_protections` (
	`server_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`user_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`every_s` int NOT NULL,
	`keep` int NOT NULL,
	`next_at` datetime(3) NOT NULL,
	`last_at` datetime(3),
	`last_image_id` char(36) character set ascii collate ascii_bin,
	`last_error` varchar(255),
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `server_protections_server_id` PRIMARY KEY(`server_id`)
);
--> statement-breakpoint
CREATE INDEX `server_protections_next` ON `server_protections` (`next_at`);--> statement-breakpoint
CREATE INDEX `server_protections_project` ON `server_protections` (`project_id`);