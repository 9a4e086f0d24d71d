CREATE TABLE `feed` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`n` bigint NOT NULL DEFAULT 0,
	`body` mediumtext NOT NULL,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `feed_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE TABLE `feed_state` (
	`id` int NOT NULL,
	`incarnation` char(36) character set ascii collate ascii_bin NOT NULL,
	`last` bigint NOT NULL,
	`acknowledged` bigint NOT NULL,
	`removed` bigint NOT NULL,
	CONSTRAINT `feed_state_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE TABLE `hosts` (
	`host_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`version` int NOT NULL,
	`name` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`zone` varchar(255) NOT NULL,
	`own_zone` varchar(255) NOT NULL,
	`aggregates` json NOT NULL,
	`driver` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`simulated` boolean NOT NULL,
	`capabilities` json NOT NULL,
	`is_up` boolean NOT NULL,
	`down` text,
	`is_disabled` boolean NOT NULL DEFAULT false,
	`disabled_reason` varchar(255),
	`is_forced_down` boolean NOT NULL DEFAULT false,
	`inventory` json,
	`network` json,
	`is_believed` boolean NOT NULL DEFAULT false,
	`is_deleted` boolean NOT NULL DEFAULT false,
	`shown_generation` int NOT NULL,
	`started_at` datetime(3) NOT NULL,
	`last_seen_at` datetime(3) NOT NULL,
	CONSTRAINT `hosts_host_id` PRIMARY KEY(`host_id`)
);
--> statement-breakpoint
CREATE TABLE `instances` (
	`server_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`attempt` int NOT NULL,
	`version` int NOT NULL,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`vm_state` varchar(20) character set ascii collate ascii_bin NOT NULL,
	`task_state` varchar(32) character set ascii collate ascii_bin,
	`power_state` tinyint NOT NULL,
	`host_id` char(36) character set ascii collate ascii_bin,
	`host` varchar(64) character set ascii collate ascii_bin,
	`hypervisor_hostname` varchar(255),
	`zone` varchar(255),
	`flavor` json,
	`image_id` char(36) character set ascii collate ascii_bin,
	`machine_nics` json,
	`fault` json,
	`launched_at` datetime(3),
	`saga_id` char(36) character set ascii collate ascii_bin,
	`sealed_record` mediumtext NOT NULL,
	`sealed_secrets` mediumtext,
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3) NOT NULL,
	CONSTRAINT `instances_server_id` PRIMARY KEY(`server_id`)
);
--> statement-breakpoint
CREATE TABLE `operations` (
	`server_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`attempt` int NOT NULL,
	`slot` varchar(36) character set ascii collate ascii_bin NOT NULL,
	`operation_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`outcome` varchar(16) character set ascii collate ascii_bin NOT NULL,
	`ended` char(9) character set ascii collate ascii_bin NOT NULL DEFAULT '',
	`reason` text,
	`trace` mediumtext,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `operations_server_id_attempt_slot_pk` PRIMARY KEY(`server_id`,`attempt`,`slot`)
);
--> statement-breakpoint
CREATE TABLE `network_objects` (
	`kind` varchar(16) character set ascii collate ascii_bin NOT NULL,
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`digest` varchar(44) character set ascii collate ascii_bin NOT NULL,
	`body` json NOT NULL,
	CONSTRAINT `network_objects_kind_id_pk` PRIMARY KEY(`kind`,`id`)
);
--> statement-breakpoint
CREATE TABLE `network_writer` (
	`id` int NOT NULL,
	`generation` int NOT NULL,
	`version` int NOT NULL,
	CONSTRAINT `network_writer_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE TABLE `port_bindings` (
	`port_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`is_up` boolean NOT NULL,
	CONSTRAINT `port_bindings_port_id` PRIMARY KEY(`port_id`)
);
--> statement-breakpoint
CREATE TABLE `allocations` (
	`consumer_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`provider_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`resource_class` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`used` bigint NOT NULL,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `allocations_consumer_id_provider_id_resource_class_pk` PRIMARY KEY(`consumer_id`,`provider_id`,`resource_class`)
);
--> statement-breakpoint
CREATE TABLE `custom_resources` (
	`provider_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`resource_class` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`limit` bigint NOT NULL,
	`used` bigint NOT NULL DEFAULT 0,
	CONSTRAINT `custom_resources_provider_id_resource_class_pk` PRIMARY KEY(`provider_id`,`resource_class`)
);
--> statement-breakpoint
CREATE TABLE `group_hosts` (
	`group_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`slot` varchar(36) character set ascii collate ascii_bin NOT NULL,
	`host_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`members` int NOT NULL,
	CONSTRAINT `group_hosts_group_id_slot_pk` PRIMARY KEY(`group_id`,`slot`)
);
--> statement-breakpoint
CREATE TABLE `group_members` (
	`consumer_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`group_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`host_id` char(36) character set ascii collate ascii_bin NOT NULL,
	CONSTRAINT `group_members_consumer_id` PRIMARY KEY(`consumer_id`)
);
--> statement-breakpoint
CREATE TABLE `resource_providers` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`generation` int NOT NULL,
	`vcpus_limit` bigint NOT NULL,
	`memory_mb_limit` bigint NOT NULL,
	`disk_gb_limit` bigint NOT NULL,
	`vcpus_used` bigint NOT NULL DEFAULT 0,
	`memory_mb_used` bigint NOT NULL DEFAULT 0,
	`disk_gb_used` bigint NOT NULL DEFAULT 0,
	`instances` int NOT NULL DEFAULT 0,
	CONSTRAINT `resource_providers_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE TABLE `leases` (
	`name` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`holder` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`generation` int NOT NULL,
	`expires_at` datetime(3) NOT NULL,
	CONSTRAINT `leases_name` PRIMARY KEY(`name`)
);
--> statement-breakpoint
CREATE TABLE `sagas` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`version` int NOT NULL,
	`state` char(9) character set ascii collate ascii_bin NOT NULL,
	`subject` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`params` json NOT NULL,
	`work` json NOT NULL,
	`log` json NOT NULL,
	`owner` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`generation` int NOT NULL,
	`execution` char(7) character set ascii collate ascii_bin NOT NULL DEFAULT 'idle',
	`why` text,
	`resume_at` datetime(3) NOT NULL,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `sagas_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE TABLE `server_migrations` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`server_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`version` int NOT NULL,
	`type` varchar(16) character set ascii collate ascii_bin NOT NULL,
	`status` varchar(16) character set ascii collate ascii_bin NOT NULL,
	`source_host` varchar(64) character set ascii collate ascii_bin,
	`source_node` varchar(255),
	`dest_host` varchar(64) character set ascii collate ascii_bin,
	`dest_node` varchar(255),
	`old_flavor_id` varchar(255) NOT NULL,
	`new_flavor_id` varchar(255) NOT NULL,
	`user_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3) NOT NULL,
	CONSTRAINT `server_migrations_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE INDEX `feed_n` ON `feed` (`n`);--> statement-breakpoint
CREATE INDEX `hosts_name` ON `hosts` (`name`);--> statement-breakpoint
CREATE INDEX `instances_host` ON `instances` (`host_id`);--> statement-breakpoint
CREATE INDEX `operations_created` ON `operations` (`created_at`);--> statement-breakpoint
CREATE INDEX `sagas_state` ON `sagas` (`state`,`resume_at`);--> statement-breakpoint
CREATE INDEX `server_migrations_server` ON `server_migrations` (`server_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `server_migrations_updated` ON `server_migrations` (`updated_at`);--> statement-breakpoint
CREATE INDEX `server_migrations_status` ON `server_migrations` (`status`);