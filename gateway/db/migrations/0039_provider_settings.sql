CREATE TABLE `custom_traits` (
	`name` varchar(255) character set ascii collate ascii_bin NOT NULL,
	`lock_version` bigint unsigned NOT NULL DEFAULT 0,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `custom_traits_name` PRIMARY KEY(`name`)
);
--> statement-breakpoint
CREATE TABLE `provider_settings` (
	`host_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`lock_version` bigint unsigned NOT NULL DEFAULT 0,
	`generation` int NOT NULL,
	`settings` json NOT NULL,
	CONSTRAINT `provider_settings_host_id` PRIMARY KEY(`host_id`)
);
