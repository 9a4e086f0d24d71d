CREATE TABLE `default_volume_types` (
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`type_id` char(36) character set ascii collate ascii_bin NOT NULL,
	CONSTRAINT `default_volume_types_project_id` PRIMARY KEY(`project_id`)
);
--> statement-breakpoint
CREATE TABLE `volume_messages` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`request_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`resource_type` varchar(32) character set ascii collate ascii_bin NOT NULL,
	`resource_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`event_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`text` text NOT NULL,
	`level` varchar(16) character set ascii collate ascii_bin NOT NULL,
	`created_at` datetime(3) NOT NULL,
	`expires_at` datetime(3) NOT NULL,
	CONSTRAINT `volume_messages_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE TABLE `volume_quota_classes` (
	`class_name` varchar(255) NOT NULL,
	`resource` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`hard_limit` int NOT NULL,
	CONSTRAINT `volume_quota_classes_class_name_resource_pk` PRIMARY KEY(`class_name`,`resource`)
);
--> statement-breakpoint
CREATE TABLE `volume_quotas` (
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`resource` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`used` int NOT NULL DEFAULT 0,
	`hard_limit` int,
	CONSTRAINT `volume_quotas_project_id_resource_pk` PRIMARY KEY(`project_id`,`resource`)
);
--> statement-breakpoint
CREATE TABLE `volume_type_access` (
	`type_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	CONSTRAINT `volume_type_access_type_id_project_id_pk` PRIMARY KEY(`type_id`,`project_id`)
);
--> statement-breakpoint
CREATE TABLE `volume_types` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(255) NOT NULL,
	`description` text,
	`is_public` boolean NOT NULL,
	`extra_specs` json NOT NULL,
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3),
	CONSTRAINT `volume_types_id` PRIMARY KEY(`id`),
	CONSTRAINT `volume_types_name` UNIQUE(`name`)
);
--> statement-breakpoint
CREATE INDEX `default_volume_types_type` ON `default_volume_types` (`type_id`);--> statement-breakpoint
CREATE INDEX `volume_messages_project` ON `volume_messages` (`project_id`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `volume_messages_expiry` ON `volume_messages` (`expires_at`);--> statement-breakpoint
CREATE INDEX `volume_quotas_resource` ON `volume_quotas` (`resource`);--> statement-breakpoint
CREATE INDEX `volume_type_access_project` ON `volume_type_access` (`project_id`);--> statement-breakpoint
CREATE INDEX `volume_types_created` ON `volume_types` (`created_at`,`id`);