CREATE TABLE `placement_policies` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`description` varchar(255),
	`is_selectable` boolean NOT NULL,
	`rules` json NOT NULL,
	`revision` int NOT NULL DEFAULT 0,
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3) NOT NULL,
	CONSTRAINT `placement_policies_id` PRIMARY KEY(`id`),
	CONSTRAINT `placement_policies_name_unique` UNIQUE(`name`)
);
--> statement-breakpoint
CREATE TABLE `placement_policy_bindings` (
	`kind` varchar(16) character set ascii collate ascii_bin NOT NULL,
	`target_id` varchar(255) NOT NULL,
	`policy_id` char(36) character set ascii collate ascii_bin NOT NULL,
	CONSTRAINT `placement_policy_bindings_kind_target_id_pk` PRIMARY KEY(`kind`,`target_id`)
);
--> statement-breakpoint
ALTER TABLE `cell_mappings` ADD `labels` json;--> statement-breakpoint
ALTER TABLE `cell_mappings` ADD `taints` json;--> statement-breakpoint
CREATE INDEX `placement_policy_bindings_policy` ON `placement_policy_bindings` (`policy_id`);