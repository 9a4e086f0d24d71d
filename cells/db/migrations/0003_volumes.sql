CREATE TABLE `store_hosts` (
	`store_id` varchar(255) character set ascii collate ascii_bin NOT NULL,
	`host_id` char(36) character set ascii collate ascii_bin NOT NULL,
	CONSTRAINT `store_hosts_store_id_host_id_pk` PRIMARY KEY(`store_id`,`host_id`)
);
--> statement-breakpoint
CREATE TABLE `stores` (
	`id` varchar(255) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(255) NOT NULL,
	`engine` varchar(32) character set ascii collate ascii_bin NOT NULL,
	`total_bytes` bigint NOT NULL,
	`free_bytes` bigint NOT NULL,
	`is_shared` boolean NOT NULL,
	`multiattach` boolean NOT NULL,
	`promised_gb` bigint NOT NULL DEFAULT 0,
	`updated_at` datetime(3) NOT NULL,
	CONSTRAINT `stores_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE TABLE `volume_attempts` (
	`volume_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`attempt` int NOT NULL,
	`outcome` varchar(16) character set ascii collate ascii_bin NOT NULL,
	`reason` text,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `volume_attempts_volume_id_attempt_pk` PRIMARY KEY(`volume_id`,`attempt`)
);
--> statement-breakpoint
CREATE TABLE `volumes` (
	`volume_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`attempt` int NOT NULL,
	`version` int NOT NULL,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`state` varchar(16) character set ascii collate ascii_bin NOT NULL,
	`size_gb` int NOT NULL,
	`store_id` varchar(255) character set ascii collate ascii_bin NOT NULL,
	`host_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`zone` varchar(255) NOT NULL,
	`fault` text,
	`saga_id` char(36) character set ascii collate ascii_bin,
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3) NOT NULL,
	CONSTRAINT `volumes_volume_id` PRIMARY KEY(`volume_id`)
);
--> statement-breakpoint
CREATE INDEX `store_hosts_host` ON `store_hosts` (`host_id`);--> statement-breakpoint
CREATE INDEX `volume_attempts_created` ON `volume_attempts` (`created_at`);--> statement-breakpoint
CREATE INDEX `volumes_store` ON `volumes` (`store_id`);