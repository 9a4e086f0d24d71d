CREATE TABLE `volume_attachments` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`volume_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`server_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`state` varchar(16) character set ascii collate ascii_bin NOT NULL,
	`device` varchar(32) character set ascii collate ascii_bin,
	`tag` varchar(255),
	`deletes_volume` boolean NOT NULL,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `volume_attachments_id` PRIMARY KEY(`id`),
	CONSTRAINT `volume_attachments_pair` UNIQUE(`volume_id`,`server_id`)
);
--> statement-breakpoint
CREATE TABLE `volumes` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`user_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(255),
	`description` varchar(255),
	`metadata` json NOT NULL,
	`type_id` char(36) character set ascii collate ascii_bin,
	`specs` json NOT NULL,
	`zone` varchar(255),
	`size_gb` int NOT NULL,
	`charged_gb` int NOT NULL,
	`status` varchar(20) character set ascii collate ascii_bin NOT NULL,
	`is_deleting` boolean NOT NULL DEFAULT false,
	`is_bootable` boolean NOT NULL DEFAULT false,
	`is_multiattach` boolean NOT NULL DEFAULT false,
	`cell_id` char(36) character set ascii collate ascii_bin,
	`attempt` int NOT NULL,
	`tried_cells` json NOT NULL,
	`cell_version` int NOT NULL DEFAULT 0,
	`store_id` varchar(255) character set ascii collate ascii_bin,
	`store_name` varchar(255),
	`fault` text,
	`saga_id` char(36) character set ascii collate ascii_bin,
	`revision` int NOT NULL DEFAULT 0,
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3),
	`changed_at` datetime(3) NOT NULL,
	CONSTRAINT `volumes_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
ALTER TABLE `server_index` ADD `volumes` json;--> statement-breakpoint
CREATE INDEX `volume_attachments_server` ON `volume_attachments` (`server_id`);--> statement-breakpoint
CREATE INDEX `volumes_project` ON `volumes` (`project_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `volumes_cell` ON `volumes` (`cell_id`);--> statement-breakpoint
CREATE INDEX `volumes_type` ON `volumes` (`type_id`);--> statement-breakpoint
CREATE INDEX `volumes_deleting` ON `volumes` (`is_deleting`);--> statement-breakpoint
CREATE INDEX `volumes_saga` ON `volumes` (`saga_id`);