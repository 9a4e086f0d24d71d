CREATE TABLE `aggregate_hosts` (
	`aggregate_id` int NOT NULL,
	`host_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(255) NOT NULL,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `aggregate_hosts_aggregate_id_host_id_pk` PRIMARY KEY(`aggregate_id`,`host_id`)
);
--> statement-breakpoint
CREATE TABLE `aggregates` (
	`id` int AUTO_INCREMENT NOT NULL,
	`lock_version` bigint unsigned NOT NULL DEFAULT 0,
	`uuid` char(36) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(255) NOT NULL,
	`metadata` json NOT NULL,
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3),
	CONSTRAINT `aggregates_id` PRIMARY KEY(`id`),
	CONSTRAINT `aggregates_uuid_unique` UNIQUE(`uuid`),
	CONSTRAINT `aggregates_name_unique` UNIQUE(`name`)
);
--> statement-breakpoint
CREATE TABLE `audit_records` (
	`n` bigint AUTO_INCREMENT NOT NULL,
	`at` datetime(3) NOT NULL,
	`user_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`user_name` varchar(255) NOT NULL,
	`project_id` varchar(64) character set ascii collate ascii_bin,
	`action` varchar(128) character set ascii collate ascii_bin NOT NULL,
	`target` varchar(255) NOT NULL,
	`status` int NOT NULL,
	`request_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`record_id` char(36) character set ascii collate ascii_bin,
	CONSTRAINT `audit_records_n` PRIMARY KEY(`n`),
	CONSTRAINT `audit_records_record` UNIQUE(`record_id`)
);
--> statement-breakpoint
CREATE TABLE `bus_keys` (
	`public_key` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`cell_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`host_id` char(36) character set ascii collate ascii_bin,
	`created_at` datetime(3) NOT NULL,
	`shut_out_at` datetime(3),
	CONSTRAINT `bus_keys_public_key` PRIMARY KEY(`public_key`)
);
--> statement-breakpoint
CREATE TABLE `cell_accounts` (
	`public_key` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`cell_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`service_activation` text NOT NULL,
	`feed_activation` text NOT NULL,
	`sealed_seed` text NOT NULL,
	`created_at` datetime(3) NOT NULL,
	`revoked_at` datetime(3),
	CONSTRAINT `cell_accounts_public_key` PRIMARY KEY(`public_key`)
);
--> statement-breakpoint
CREATE TABLE `cell_mappings` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`is_disabled` boolean NOT NULL DEFAULT false,
	`disabled_reason` varchar(255),
	`weight` double NOT NULL DEFAULT 1,
	`transport_zone` varchar(64) character set ascii collate ascii_bin,
	`revision` int NOT NULL DEFAULT 0,
	`incarnation` char(36) character set ascii collate ascii_bin,
	`applied_position` bigint NOT NULL DEFAULT 0,
	`needs_resync` boolean NOT NULL DEFAULT true,
	`is_dark` boolean NOT NULL DEFAULT false,
	`last_heartbeat_at` datetime(3),
	`summary` json,
	`lost_at` datetime(3),
	`lost_by` varchar(64) character set ascii collate ascii_bin,
	`lost_statement` text,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `cell_mappings_id` PRIMARY KEY(`id`),
	CONSTRAINT `cell_mappings_name_unique` UNIQUE(`name`)
);
--> statement-breakpoint
CREATE TABLE `cell_tunnels` (
	`cell_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`other_cell_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`failure` text,
	`tested_at` datetime(3) NOT NULL,
	CONSTRAINT `cell_tunnels_cell_id_other_cell_id_pk` PRIMARY KEY(`cell_id`,`other_cell_id`)
);
--> statement-breakpoint
CREATE TABLE `host_index` (
	`cell_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`host_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`version` int NOT NULL,
	`view` json NOT NULL,
	`updated_at` datetime(3) NOT NULL,
	`serial` int AUTO_INCREMENT NOT NULL,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `host_index_cell_id_host_id_pk` PRIMARY KEY(`cell_id`,`host_id`),
	CONSTRAINT `host_index_serial_unique` UNIQUE(`serial`),
	CONSTRAINT `host_index_host` UNIQUE(`host_id`)
);
--> statement-breakpoint
CREATE TABLE `join_tokens` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`secret_hash` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`cell_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`cell_name` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`host_id` char(36) character set ascii collate ascii_bin,
	`host_name` varchar(64) character set ascii collate ascii_bin,
	`created_at` datetime(3) NOT NULL,
	`expires_at` datetime(3) NOT NULL,
	`used_at` datetime(3),
	`used_by` varchar(64) character set ascii collate ascii_bin,
	CONSTRAINT `join_tokens_id` PRIMARY KEY(`id`),
	CONSTRAINT `join_tokens_secret_hash_unique` UNIQUE(`secret_hash`)
);
--> statement-breakpoint
CREATE TABLE `traces` (
	`server_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`attempt` int NOT NULL,
	`level` varchar(8) character set ascii collate ascii_bin NOT NULL,
	`decided_at` bigint NOT NULL,
	`trace` json NOT NULL,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `traces_server_id_attempt_level_decided_at_pk` PRIMARY KEY(`server_id`,`attempt`,`level`,`decided_at`)
);
--> statement-breakpoint
CREATE TABLE `console_sessions` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`token_hash` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`caller_token_hash` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`server_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`attempt` int NOT NULL,
	`cell_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`host_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`kind` varchar(8) character set ascii collate ascii_bin NOT NULL,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`expires_at` datetime(3) NOT NULL,
	`alive_until` datetime(3),
	CONSTRAINT `console_sessions_id` PRIMARY KEY(`id`),
	CONSTRAINT `console_sessions_token_hash_unique` UNIQUE(`token_hash`)
);
--> statement-breakpoint
CREATE TABLE `event_inbox` (
	`id` bigint AUTO_INCREMENT NOT NULL,
	`type` varchar(32) character set ascii collate ascii_bin NOT NULL,
	`at` datetime(3) NOT NULL,
	`server_id` char(36) character set ascii collate ascii_bin,
	`cell_id` char(36) character set ascii collate ascii_bin,
	`details` mediumtext NOT NULL,
	CONSTRAINT `event_inbox_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE TABLE `event_state` (
	`id` int NOT NULL,
	`last` bigint NOT NULL,
	`removed` bigint NOT NULL,
	CONSTRAINT `event_state_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE TABLE `events` (
	`n` bigint NOT NULL,
	`type` varchar(32) character set ascii collate ascii_bin NOT NULL,
	`at` datetime(3) NOT NULL,
	`project_id` varchar(64) character set ascii collate ascii_bin,
	`server_id` char(36) character set ascii collate ascii_bin,
	`cell_id` char(36) character set ascii collate ascii_bin,
	`details` mediumtext NOT NULL,
	CONSTRAINT `events_n` PRIMARY KEY(`n`)
);
--> statement-breakpoint
CREATE TABLE `access_rules` (
	`id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`user_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`service` varchar(255) NOT NULL,
	`method` varchar(8) character set ascii collate ascii_bin NOT NULL,
	`path` varchar(128) NOT NULL,
	CONSTRAINT `access_rules_id` PRIMARY KEY(`id`),
	CONSTRAINT `access_rules_content` UNIQUE(`user_id`,`service`,`method`,`path`)
);
--> statement-breakpoint
CREATE TABLE `application_credentials` (
	`id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`user_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`project_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`name` varchar(255) NOT NULL,
	`description` text,
	`secret_hash` varchar(255) NOT NULL,
	`unrestricted` boolean NOT NULL,
	`role_ids` json NOT NULL,
	`access_rule_ids` json,
	`expires_at` datetime(3),
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `application_credentials_id` PRIMARY KEY(`id`),
	CONSTRAINT `application_credentials_name` UNIQUE(`user_id`,`name`)
);
--> statement-breakpoint
CREATE TABLE `catalog_endpoints` (
	`id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`service_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`interface` varchar(8) character set ascii collate ascii_bin NOT NULL,
	`region_id` varchar(255),
	`url` varchar(2048) NOT NULL,
	`enabled` boolean NOT NULL,
	`extra` json NOT NULL,
	CONSTRAINT `catalog_endpoints_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE TABLE `catalog_services` (
	`id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`type` varchar(255) NOT NULL,
	`name` varchar(255) NOT NULL,
	`description` text NOT NULL,
	`extra` json NOT NULL,
	`enabled` boolean NOT NULL,
	CONSTRAINT `catalog_services_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE TABLE `credentials` (
	`id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`user_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`project_id` varchar(64) character set utf8mb4 collate utf8mb4_bin,
	`type` varchar(255) NOT NULL,
	`sealed_blob` text NOT NULL,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `credentials_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE TABLE `domains` (
	`id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`lock_version` bigint unsigned NOT NULL DEFAULT 0,
	`name` varchar(255) character set utf8mb4 collate utf8mb4_general_ci NOT NULL,
	`description` text NOT NULL,
	`enabled` boolean NOT NULL,
	`immutable` boolean NOT NULL,
	CONSTRAINT `domains_id` PRIMARY KEY(`id`),
	CONSTRAINT `domains_name_unique` UNIQUE(`name`)
);
--> statement-breakpoint
CREATE TABLE `group_members` (
	`group_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`user_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	CONSTRAINT `group_members_group_id_user_id_pk` PRIMARY KEY(`group_id`,`user_id`)
);
--> statement-breakpoint
CREATE TABLE `implied_roles` (
	`prior_role_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`implied_role_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	CONSTRAINT `implied_roles_prior_role_id_implied_role_id_pk` PRIMARY KEY(`prior_role_id`,`implied_role_id`)
);
--> statement-breakpoint
CREATE TABLE `own_limits` (
	`id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`registered_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`owner_type` varchar(8) character set ascii collate ascii_bin NOT NULL,
	`owner_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`resource_limit` int NOT NULL,
	`description` text,
	CONSTRAINT `own_limits_id` PRIMARY KEY(`id`),
	CONSTRAINT `own_limits_resource` UNIQUE(`registered_id`,`owner_type`,`owner_id`)
);
--> statement-breakpoint
CREATE TABLE `policies` (
	`id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`type` varchar(255) NOT NULL,
	`blob` text NOT NULL,
	`extra` json NOT NULL,
	CONSTRAINT `policies_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE TABLE `projects` (
	`id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`lock_version` bigint unsigned NOT NULL DEFAULT 0,
	`domain_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`parent_id` varchar(64) character set utf8mb4 collate utf8mb4_bin,
	`ancestors` varchar(512) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`name` varchar(255) character set utf8mb4 collate utf8mb4_general_ci NOT NULL,
	`description` text NOT NULL,
	`enabled` boolean NOT NULL,
	`immutable` boolean NOT NULL,
	`tags` json NOT NULL,
	`extra` json NOT NULL,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `projects_id` PRIMARY KEY(`id`),
	CONSTRAINT `projects_name` UNIQUE(`domain_id`,`name`)
);
--> statement-breakpoint
CREATE TABLE `regions` (
	`id` varchar(255) NOT NULL,
	`parent_region_id` varchar(255),
	`description` text NOT NULL,
	`extra` json NOT NULL,
	CONSTRAINT `regions_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE TABLE `registered_limits` (
	`id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`lock_version` bigint unsigned NOT NULL DEFAULT 0,
	`service_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`region_id` varchar(255) NOT NULL,
	`resource_name` varchar(255) NOT NULL,
	`default_limit` int NOT NULL,
	`description` text,
	CONSTRAINT `registered_limits_id` PRIMARY KEY(`id`),
	CONSTRAINT `registered_limits_resource` UNIQUE(`service_id`,`region_id`,`resource_name`)
);
--> statement-breakpoint
CREATE TABLE `revocation_counter` (
	`id` int NOT NULL,
	`last` bigint NOT NULL,
	CONSTRAINT `revocation_counter_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE TABLE `revocations` (
	`number` bigint NOT NULL,
	`token_id` varchar(64) character set ascii collate ascii_bin,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `revocations_number` PRIMARY KEY(`number`)
);
--> statement-breakpoint
CREATE TABLE `role_assignments` (
	`actor_type` varchar(8) character set ascii collate ascii_bin NOT NULL,
	`actor_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`target_type` varchar(8) character set ascii collate ascii_bin NOT NULL,
	`target_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`role_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`inherited` boolean NOT NULL,
	CONSTRAINT `role_assignments_pk` PRIMARY KEY(`actor_type`,`actor_id`,`target_type`,`target_id`,`role_id`,`inherited`)
);
--> statement-breakpoint
CREATE TABLE `roles` (
	`id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`lock_version` bigint unsigned NOT NULL DEFAULT 0,
	`domain_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`name` varchar(255) character set utf8mb4 collate utf8mb4_general_ci NOT NULL,
	`description` text NOT NULL,
	`immutable` boolean NOT NULL,
	`extra` json NOT NULL,
	CONSTRAINT `roles_id` PRIMARY KEY(`id`),
	CONSTRAINT `roles_name` UNIQUE(`domain_id`,`name`)
);
--> statement-breakpoint
CREATE TABLE `tokens` (
	`id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`audit_id` varchar(32) character set ascii collate ascii_bin NOT NULL,
	`audit_chain_id` varchar(32) character set ascii collate ascii_bin NOT NULL,
	`user_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`scope_type` varchar(8) character set ascii collate ascii_bin NOT NULL,
	`scope_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`application_credential_id` varchar(64) character set utf8mb4 collate utf8mb4_bin,
	`trust_id` varchar(64) character set utf8mb4 collate utf8mb4_bin,
	`methods` json NOT NULL,
	`issued_at` datetime(3) NOT NULL,
	`expires_at` datetime(3) NOT NULL,
	CONSTRAINT `tokens_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE TABLE `trusts` (
	`id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`trustor_user_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`trustee_user_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`project_id` varchar(64) character set utf8mb4 collate utf8mb4_bin,
	`impersonation` boolean NOT NULL,
	`role_ids` json NOT NULL,
	`expires_at` datetime(3),
	`remaining_uses` int,
	`redelegated_trust_id` varchar(64) character set utf8mb4 collate utf8mb4_bin,
	`redelegation_count` int NOT NULL,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `trusts_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE TABLE `user_groups` (
	`id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`lock_version` bigint unsigned NOT NULL DEFAULT 0,
	`domain_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`name` varchar(255) character set utf8mb4 collate utf8mb4_general_ci NOT NULL,
	`description` text NOT NULL,
	`extra` json NOT NULL,
	CONSTRAINT `user_groups_id` PRIMARY KEY(`id`),
	CONSTRAINT `user_groups_name` UNIQUE(`domain_id`,`name`)
);
--> statement-breakpoint
CREATE TABLE `users` (
	`id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`lock_version` bigint unsigned NOT NULL DEFAULT 0,
	`domain_id` varchar(64) character set utf8mb4 collate utf8mb4_bin NOT NULL,
	`name` varchar(255) character set utf8mb4 collate utf8mb4_general_ci NOT NULL,
	`password_hash` varchar(255),
	`default_project_id` varchar(64) character set utf8mb4 collate utf8mb4_bin,
	`email` varchar(255),
	`description` text NOT NULL,
	`enabled` boolean NOT NULL,
	`options` json NOT NULL,
	`extra` json NOT NULL,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `users_id` PRIMARY KEY(`id`),
	CONSTRAINT `users_name` UNIQUE(`domain_id`,`name`)
);
--> statement-breakpoint
CREATE TABLE `image_contents` (
	`sha256` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`image_count` int NOT NULL,
	CONSTRAINT `image_contents_sha256` PRIMARY KEY(`sha256`)
);
--> statement-breakpoint
CREATE TABLE `image_members` (
	`image_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`member` varchar(255) NOT NULL,
	`status` varchar(16) character set ascii collate ascii_bin NOT NULL,
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3) NOT NULL,
	CONSTRAINT `image_members_image_id_member_pk` PRIMARY KEY(`image_id`,`member`)
);
--> statement-breakpoint
CREATE TABLE `image_tags` (
	`image_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`tag` varchar(255) NOT NULL,
	CONSTRAINT `image_tags_image_id_tag_pk` PRIMARY KEY(`image_id`,`tag`)
);
--> statement-breakpoint
CREATE TABLE `image_tasks` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`image_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`owner` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`user_id` varchar(64) character set ascii collate ascii_bin,
	`request_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`status` varchar(16) character set ascii collate ascii_bin NOT NULL,
	`request` json NOT NULL,
	`message` text NOT NULL,
	`tries` int NOT NULL,
	`lease_until` datetime(3),
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3) NOT NULL,
	`expires_at` datetime(3),
	CONSTRAINT `image_tasks_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE TABLE `images` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`lock_version` bigint unsigned NOT NULL DEFAULT 0,
	`name` varchar(255),
	`status` varchar(16) character set ascii collate ascii_bin NOT NULL,
	`visibility` varchar(16) character set ascii collate ascii_bin NOT NULL,
	`owner` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`disk_format` varchar(20) character set ascii collate ascii_bin,
	`container_format` varchar(20) character set ascii collate ascii_bin,
	`size` bigint,
	`virtual_size` bigint,
	`checksum` varchar(32) character set ascii collate ascii_bin,
	`os_hash_value` varchar(128) character set ascii collate ascii_bin,
	`content_sha256` varchar(64) character set ascii collate ascii_bin,
	`min_disk` int NOT NULL,
	`min_ram` int NOT NULL,
	`protected` boolean NOT NULL,
	`os_hidden` boolean NOT NULL,
	`properties` json NOT NULL,
	`upload_id` char(36) character set ascii collate ascii_bin,
	`upload_expires_at` datetime(3),
	`snapshot_of` char(36) character set ascii collate ascii_bin,
	`snapshot_for` varchar(8) character set ascii collate ascii_bin,
	`backups_kept` int,
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3) NOT NULL,
	`revision` int NOT NULL,
	CONSTRAINT `images_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE TABLE `metadef_namespaces` (
	`name` varchar(80) NOT NULL,
	`display_name` varchar(255),
	`description` text,
	`visibility` varchar(8) character set ascii collate ascii_bin NOT NULL,
	`protected` boolean NOT NULL,
	`owner` varchar(255) NOT NULL,
	`resource_types` json NOT NULL,
	`properties` json NOT NULL,
	`objects` json NOT NULL,
	`tags` json NOT NULL,
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3) NOT NULL,
	CONSTRAINT `metadef_namespaces_name` PRIMARY KEY(`name`)
);
--> statement-breakpoint
CREATE TABLE `network_quotas` (
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`resource` varchar(32) character set ascii collate ascii_bin NOT NULL,
	`used` int NOT NULL,
	`hard_limit` int,
	CONSTRAINT `network_quotas_project_id_resource_pk` PRIMARY KEY(`project_id`,`resource`)
);
--> statement-breakpoint
CREATE TABLE `network_segments` (
	`network_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`cell_id` char(36) character set ascii collate ascii_bin NOT NULL,
	CONSTRAINT `network_segments_network_id_cell_id_pk` PRIMARY KEY(`network_id`,`cell_id`)
);
--> statement-breakpoint
CREATE TABLE `networks` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`lock_version` bigint unsigned NOT NULL DEFAULT 0,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(255) NOT NULL,
	`description` varchar(255) NOT NULL,
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3) NOT NULL,
	`revision_number` int NOT NULL,
	`tags` json NOT NULL DEFAULT ('[]'),
	`admin_state_up` boolean NOT NULL,
	`shared` boolean NOT NULL,
	`router_external` boolean NOT NULL,
	`mtu` int NOT NULL,
	`port_security_enabled` boolean NOT NULL,
	`everywhere` boolean NOT NULL,
	`is_default` boolean,
	`dns_domain` varchar(255) NOT NULL DEFAULT '',
	`physical_network` varchar(64) character set ascii collate ascii_bin,
	`vlan_id` smallint,
	`tunnel_key` int NOT NULL,
	CONSTRAINT `networks_id` PRIMARY KEY(`id`),
	CONSTRAINT `networks_by_tunnel_key` UNIQUE(`tunnel_key`),
	CONSTRAINT `networks_by_vlan` UNIQUE(`physical_network`,`vlan_id`),
	CONSTRAINT `networks_by_default` UNIQUE(`is_default`)
);
--> statement-breakpoint
CREATE TABLE `port_addresses` (
	`subnet_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`address_offset` bigint unsigned NOT NULL,
	`ip_address` varchar(45) character set ascii collate ascii_bin NOT NULL,
	`port_id` char(36) character set ascii collate ascii_bin NOT NULL,
	CONSTRAINT `port_addresses_subnet_id_address_offset_pk` PRIMARY KEY(`subnet_id`,`address_offset`)
);
--> statement-breakpoint
CREATE TABLE `port_security_groups` (
	`port_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`security_group_id` char(36) character set ascii collate ascii_bin NOT NULL,
	CONSTRAINT `port_security_groups_port_id_security_group_id_pk` PRIMARY KEY(`port_id`,`security_group_id`)
);
--> statement-breakpoint
CREATE TABLE `ports` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`lock_version` bigint unsigned NOT NULL DEFAULT 0,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(255) NOT NULL,
	`description` varchar(255) NOT NULL,
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3) NOT NULL,
	`revision_number` int NOT NULL,
	`tags` json NOT NULL DEFAULT ('[]'),
	`network_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`mac_address` varchar(17) character set ascii collate ascii_bin NOT NULL,
	`machine_mac` varchar(17) character set ascii collate ascii_bin,
	`admin_state_up` boolean NOT NULL,
	`status` varchar(16) character set ascii collate ascii_bin NOT NULL,
	`device_id` varchar(255) character set ascii collate ascii_bin NOT NULL,
	`device_owner` varchar(255) character set ascii collate ascii_bin NOT NULL,
	`nic_index` smallint NOT NULL,
	`boot_made` boolean NOT NULL,
	`nic_tag` varchar(60),
	`binding_host` varchar(255) NOT NULL,
	`data_plane_up` boolean,
	`port_security_enabled` boolean NOT NULL,
	`allowed_address_pairs` json NOT NULL DEFAULT ('[]'),
	`extra_dhcp_opts` json NOT NULL DEFAULT ('[]'),
	`dns_name` varchar(63) character set ascii collate ascii_bin NOT NULL DEFAULT '',
	`tunnel_key` smallint NOT NULL,
	CONSTRAINT `ports_id` PRIMARY KEY(`id`),
	CONSTRAINT `ports_by_mac` UNIQUE(`mac_address`),
	CONSTRAINT `ports_by_tunnel_key` UNIQUE(`network_id`,`tunnel_key`)
);
--> statement-breakpoint
CREATE TABLE `rbac_policies` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`network_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`target` varchar(64) character set ascii collate ascii_bin NOT NULL,
	CONSTRAINT `rbac_policies_id` PRIMARY KEY(`id`),
	CONSTRAINT `rbac_policies_by_network` UNIQUE(`network_id`,`target`)
);
--> statement-breakpoint
CREATE TABLE `released_addresses` (
	`subnet_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`address_offset` bigint unsigned NOT NULL,
	`released_at` datetime(3) NOT NULL,
	CONSTRAINT `released_addresses_subnet_id_address_offset_pk` PRIMARY KEY(`subnet_id`,`address_offset`)
);
--> statement-breakpoint
CREATE TABLE `security_group_rules` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`security_group_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`description` varchar(255) NOT NULL,
	`direction` varchar(8) character set ascii collate ascii_bin NOT NULL,
	`ethertype` varchar(8) character set ascii collate ascii_bin NOT NULL,
	`protocol` varchar(32) character set ascii collate ascii_bin,
	`port_range_min` int,
	`port_range_max` int,
	`remote_ip_prefix` varchar(50) character set ascii collate ascii_bin,
	`remote_group_id` char(36) character set ascii collate ascii_bin,
	`identity` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `security_group_rules_id` PRIMARY KEY(`id`),
	CONSTRAINT `security_group_rules_by_identity` UNIQUE(`security_group_id`,`identity`)
);
--> statement-breakpoint
CREATE TABLE `security_groups` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`lock_version` bigint unsigned NOT NULL DEFAULT 0,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(255) NOT NULL,
	`description` varchar(255) NOT NULL,
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3) NOT NULL,
	`revision_number` int NOT NULL,
	`tags` json NOT NULL DEFAULT ('[]'),
	`default_of` varchar(64) character set ascii collate ascii_bin,
	CONSTRAINT `security_groups_id` PRIMARY KEY(`id`),
	CONSTRAINT `security_groups_by_default` UNIQUE(`default_of`)
);
--> statement-breakpoint
CREATE TABLE `subnet_pools` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`lock_version` bigint unsigned NOT NULL DEFAULT 0,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(255) NOT NULL,
	`description` varchar(255) NOT NULL,
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3) NOT NULL,
	`revision_number` int NOT NULL,
	`tags` json NOT NULL DEFAULT ('[]'),
	`ip_version` smallint NOT NULL,
	`prefixes` json NOT NULL,
	`default_prefixlen` smallint NOT NULL,
	`min_prefixlen` smallint NOT NULL,
	`max_prefixlen` smallint NOT NULL,
	`default_quota` int,
	`shared` boolean NOT NULL,
	`is_default` boolean,
	CONSTRAINT `subnet_pools_id` PRIMARY KEY(`id`),
	CONSTRAINT `subnet_pools_by_default` UNIQUE(`is_default`,`ip_version`)
);
--> statement-breakpoint
CREATE TABLE `subnets` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(255) NOT NULL,
	`description` varchar(255) NOT NULL,
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3) NOT NULL,
	`revision_number` int NOT NULL,
	`tags` json NOT NULL DEFAULT ('[]'),
	`network_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`ip_version` smallint NOT NULL,
	`cidr` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`gateway_ip` varchar(64) character set ascii collate ascii_bin,
	`enable_dhcp` boolean NOT NULL,
	`dns_nameservers` json NOT NULL,
	`host_routes` json NOT NULL,
	`ipv6_ra_mode` varchar(16) character set ascii collate ascii_bin,
	`ipv6_address_mode` varchar(16) character set ascii collate ascii_bin,
	`subnetpool_id` char(36) character set ascii collate ascii_bin,
	`allocation_pools` json NOT NULL,
	CONSTRAINT `subnets_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE TABLE `cell_sagas` (
	`cell_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`subject` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`state` char(9) character set ascii collate ascii_bin NOT NULL,
	`why` text,
	`request_id` varchar(64) character set ascii collate ascii_bin,
	`started_at` datetime(3) NOT NULL,
	`ended_at` datetime(3),
	CONSTRAINT `cell_sagas_cell_id_id_pk` PRIMARY KEY(`cell_id`,`id`)
);
--> statement-breakpoint
CREATE TABLE `operations` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`kind` varchar(32) character set ascii collate ascii_bin NOT NULL,
	`state` varchar(16) character set ascii collate ascii_bin NOT NULL,
	`slot` varchar(64) character set ascii collate ascii_bin,
	`subject_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`subject` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`cell_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`reason` varchar(255),
	`is_cordoned` boolean NOT NULL DEFAULT false,
	`total` int,
	`remaining` int,
	`message` text,
	`user_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`request_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`started_at` datetime(3) NOT NULL,
	`updated_at` datetime(3) NOT NULL,
	`ended_at` datetime(3),
	CONSTRAINT `operations_id` PRIMARY KEY(`id`),
	CONSTRAINT `operations_slot_unique` UNIQUE(`slot`)
);
--> statement-breakpoint
CREATE TABLE `reconciler_rows` (
	`reconciler` varchar(32) character set ascii collate ascii_bin NOT NULL,
	`row_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`owner` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`generation` int NOT NULL,
	`state` char(7) character set ascii collate ascii_bin NOT NULL,
	`why` text,
	`taken_at` datetime(3) NOT NULL,
	`ended_at` datetime(3),
	CONSTRAINT `reconciler_rows_reconciler_row_id_pk` PRIMARY KEY(`reconciler`,`row_id`),
	CONSTRAINT `reconciler_rows_id_unique` UNIQUE(`id`)
);
--> statement-breakpoint
CREATE TABLE `flavor_access` (
	`flavor_id` varchar(255) NOT NULL,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	CONSTRAINT `flavor_access_flavor_id_project_id_pk` PRIMARY KEY(`flavor_id`,`project_id`)
);
--> statement-breakpoint
CREATE TABLE `flavors` (
	`id` varchar(255) NOT NULL,
	`serial` int AUTO_INCREMENT NOT NULL,
	`name` varchar(255) NOT NULL,
	`vcpus` int NOT NULL,
	`memory_mb` int NOT NULL,
	`root_gb` int NOT NULL,
	`ephemeral_gb` int NOT NULL,
	`swap_mb` int NOT NULL,
	`rxtx_factor` double NOT NULL,
	`is_public` boolean NOT NULL,
	`is_disabled` boolean NOT NULL DEFAULT false,
	`description` text,
	`extra_specs` json NOT NULL,
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3),
	CONSTRAINT `flavors_id` PRIMARY KEY(`id`),
	CONSTRAINT `flavors_serial_unique` UNIQUE(`serial`),
	CONSTRAINT `flavors_name` UNIQUE(`name`)
);
--> statement-breakpoint
CREATE TABLE `keypairs` (
	`user_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(255) NOT NULL,
	`type` varchar(8) character set ascii collate ascii_bin NOT NULL,
	`public_key` text NOT NULL,
	`fingerprint` varchar(80) character set ascii collate ascii_bin NOT NULL,
	`serial` int AUTO_INCREMENT NOT NULL,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `keypairs_user_id_name_pk` PRIMARY KEY(`user_id`,`name`),
	CONSTRAINT `keypairs_serial_unique` UNIQUE(`serial`)
);
--> statement-breakpoint
CREATE TABLE `quota_classes` (
	`class_name` varchar(255) NOT NULL,
	`resource` varchar(32) character set ascii collate ascii_bin NOT NULL,
	`hard_limit` int NOT NULL,
	CONSTRAINT `quota_classes_class_name_resource_pk` PRIMARY KEY(`class_name`,`resource`)
);
--> statement-breakpoint
CREATE TABLE `quota_limits` (
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`resource` varchar(32) character set ascii collate ascii_bin NOT NULL,
	`hard_limit` int NOT NULL,
	CONSTRAINT `quota_limits_project_id_resource_pk` PRIMARY KEY(`project_id`,`resource`)
);
--> statement-breakpoint
CREATE TABLE `quota_usages` (
	`owner_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`resource` varchar(32) character set ascii collate ascii_bin NOT NULL,
	`used` int NOT NULL,
	CONSTRAINT `quota_usages_owner_id_resource_pk` PRIMARY KEY(`owner_id`,`resource`)
);
--> statement-breakpoint
CREATE TABLE `user_quota_limits` (
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`user_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`resource` varchar(32) character set ascii collate ascii_bin NOT NULL,
	`hard_limit` int NOT NULL,
	CONSTRAINT `user_quota_limits_project_id_user_id_resource_pk` PRIMARY KEY(`project_id`,`user_id`,`resource`)
);
--> statement-breakpoint
CREATE TABLE `auto_allocated_topologies` (
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`network_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`router_id` char(36) character set ascii collate ascii_bin NOT NULL,
	CONSTRAINT `auto_allocated_topologies_project_id` PRIMARY KEY(`project_id`),
	CONSTRAINT `auto_allocated_topologies_by_network` UNIQUE(`network_id`)
);
--> statement-breakpoint
CREATE TABLE `floating_ips` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`description` varchar(255) NOT NULL,
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3) NOT NULL,
	`revision_number` int NOT NULL,
	`tags` json NOT NULL DEFAULT ('[]'),
	`floating_network_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`floating_ip_address` varchar(45) character set ascii collate ascii_bin NOT NULL,
	`floating_port_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`fixed_port_id` char(36) character set ascii collate ascii_bin,
	`fixed_ip_address` varchar(45) character set ascii collate ascii_bin,
	`router_id` char(36) character set ascii collate ascii_bin,
	`reported_status` varchar(6) character set ascii collate ascii_bin,
	`problem` varchar(1000),
	CONSTRAINT `floating_ips_id` PRIMARY KEY(`id`),
	CONSTRAINT `floating_ips_by_fixed_address` UNIQUE(`fixed_port_id`,`fixed_ip_address`,`floating_network_id`),
	CONSTRAINT `floating_ips_by_port` UNIQUE(`floating_port_id`)
);
--> statement-breakpoint
CREATE TABLE `port_forwardings` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`floatingip_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`router_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`description` varchar(255) NOT NULL,
	`protocol` varchar(3) character set ascii collate ascii_bin NOT NULL,
	`external_port_start` int NOT NULL,
	`external_port_end` int NOT NULL,
	`internal_port_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`internal_ip_address` varchar(45) character set ascii collate ascii_bin NOT NULL,
	`internal_port_start` int NOT NULL,
	`internal_port_end` int NOT NULL,
	CONSTRAINT `port_forwardings_id` PRIMARY KEY(`id`),
	CONSTRAINT `port_forwardings_by_floating_ip` UNIQUE(`floatingip_id`,`protocol`,`external_port_start`),
	CONSTRAINT `port_forwardings_by_port` UNIQUE(`internal_port_id`,`internal_ip_address`,`protocol`,`internal_port_start`)
);
--> statement-breakpoint
CREATE TABLE `router_gateways` (
	`router_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`cell_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`port_id` char(36) character set ascii collate ascii_bin NOT NULL,
	CONSTRAINT `router_gateways_router_id_cell_id_pk` PRIMARY KEY(`router_id`,`cell_id`),
	CONSTRAINT `router_gateways_by_port` UNIQUE(`port_id`)
);
--> statement-breakpoint
CREATE TABLE `router_interfaces` (
	`router_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`subnet_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`port_id` char(36) character set ascii collate ascii_bin NOT NULL,
	CONSTRAINT `router_interfaces_router_id_subnet_id_pk` PRIMARY KEY(`router_id`,`subnet_id`)
);
--> statement-breakpoint
CREATE TABLE `routers` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`lock_version` bigint unsigned NOT NULL DEFAULT 0,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(255) NOT NULL,
	`description` varchar(255) NOT NULL,
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3) NOT NULL,
	`revision_number` int NOT NULL,
	`tags` json NOT NULL DEFAULT ('[]'),
	`admin_state_up` boolean NOT NULL,
	`enable_snat` boolean NOT NULL,
	`gateway_port_id` char(36) character set ascii collate ascii_bin,
	`gateway_network_id` char(36) character set ascii collate ascii_bin,
	`routes` json NOT NULL,
	CONSTRAINT `routers_id` PRIMARY KEY(`id`),
	CONSTRAINT `routers_by_gateway_port` UNIQUE(`gateway_port_id`)
);
--> statement-breakpoint
CREATE TABLE `commit_markers` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`is_commit` boolean NOT NULL,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `commit_markers_id` PRIMARY KEY(`id`)
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
CREATE TABLE `server_group_members` (
	`server_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`group_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`user_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	CONSTRAINT `server_group_members_server_id` PRIMARY KEY(`server_id`)
);
--> statement-breakpoint
CREATE TABLE `server_groups` (
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`lock_version` bigint unsigned NOT NULL DEFAULT 0,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`user_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`name` varchar(255) NOT NULL,
	`policy` varchar(20) character set ascii collate ascii_bin NOT NULL,
	`max_per_host` int,
	`cell_id` char(36) character set ascii collate ascii_bin,
	`serial` int AUTO_INCREMENT NOT NULL,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `server_groups_id` PRIMARY KEY(`id`),
	CONSTRAINT `server_groups_serial_unique` UNIQUE(`serial`)
);
--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`key_hash` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`fingerprint` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`result` json NOT NULL,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `idempotency_keys_project_id_key_hash_pk` PRIMARY KEY(`project_id`,`key_hash`)
);
--> statement-breakpoint
CREATE TABLE `instance_mappings` (
	`server_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`cores` int NOT NULL,
	`ram_mb` int NOT NULL,
	`is_resizing` boolean NOT NULL DEFAULT false,
	`is_kept` boolean NOT NULL DEFAULT false,
	`is_charged` boolean NOT NULL DEFAULT true,
	`cell_id` char(36) character set ascii collate ascii_bin,
	`attempt` int NOT NULL,
	`tried_cells` json NOT NULL,
	`is_deleting` boolean NOT NULL DEFAULT false,
	`saga_id` char(36) character set ascii collate ascii_bin,
	`is_not_built` boolean NOT NULL DEFAULT false,
	`not_built_reason` text,
	`created_at` datetime(3) NOT NULL,
	`changed_at` datetime(3) NOT NULL,
	CONSTRAINT `instance_mappings_server_id` PRIMARY KEY(`server_id`)
);
--> statement-breakpoint
CREATE TABLE `request_specs` (
	`server_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`spec` json NOT NULL,
	`sealed_user_data` mediumtext,
	`sealed_files` mediumtext,
	`sealed_password` text,
	`guest_password` text,
	`password_clears` int NOT NULL DEFAULT 0,
	CONSTRAINT `request_specs_server_id` PRIMARY KEY(`server_id`)
);
--> statement-breakpoint
CREATE TABLE `server_action_events` (
	`server_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`request_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`event` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`started_at` datetime(3) NOT NULL,
	`finished_at` datetime(3),
	`result` varchar(8) character set ascii collate ascii_bin,
	`cell_id` char(36) character set ascii collate ascii_bin,
	`host` varchar(64) character set ascii collate ascii_bin,
	`details` text,
	CONSTRAINT `server_action_events_server_id_request_id_event_started_at_pk` PRIMARY KEY(`server_id`,`request_id`,`event`,`started_at`)
);
--> statement-breakpoint
CREATE TABLE `server_actions` (
	`server_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`request_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`action` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`user_id` varchar(64) character set ascii collate ascii_bin,
	`message` text,
	`started_at` datetime(3) NOT NULL,
	`updated_at` datetime(3) NOT NULL,
	CONSTRAINT `server_actions_server_id_request_id_action_pk` PRIMARY KEY(`server_id`,`request_id`,`action`)
);
--> statement-breakpoint
CREATE TABLE `server_index` (
	`server_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`user_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`cell_id` char(36) character set ascii collate ascii_bin,
	`attempt` int NOT NULL,
	`version` int NOT NULL,
	`name` varchar(255) NOT NULL,
	`hostname` varchar(255) NOT NULL,
	`description` varchar(255),
	`metadata` json NOT NULL,
	`tags` json NOT NULL,
	`is_locked` boolean NOT NULL DEFAULT false,
	`locked_reason` varchar(255),
	`locked_by` varchar(16) character set ascii collate ascii_bin,
	`flavor_id` varchar(255) NOT NULL,
	`flavor` json NOT NULL,
	`image_id` char(36) character set ascii collate ascii_bin,
	`key_name` varchar(255),
	`config_drive` boolean NOT NULL,
	`addresses` json NOT NULL,
	`security_groups` json NOT NULL,
	`reservation_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`launch_index` int NOT NULL,
	`disk_config` varchar(8) character set ascii collate ascii_bin NOT NULL,
	`requested_zone` varchar(255),
	`access_ip_v4` varchar(15) character set ascii collate ascii_bin,
	`access_ip_v6` varchar(45) character set ascii collate ascii_bin,
	`is_deleting` boolean NOT NULL DEFAULT false,
	`intent` varchar(8) character set ascii collate ascii_bin,
	`requested` json,
	`vm_state` varchar(20) character set ascii collate ascii_bin NOT NULL,
	`task_state` varchar(32) character set ascii collate ascii_bin,
	`power_state` tinyint NOT NULL,
	`host_id` char(36) character set ascii collate ascii_bin,
	`host` varchar(64) character set ascii collate ascii_bin,
	`hypervisor_hostname` varchar(64) character set ascii collate ascii_bin,
	`instance_name` varchar(64) character set ascii collate ascii_bin,
	`zone` varchar(255),
	`fault` json,
	`room` varchar(160) character set ascii collate ascii_bin,
	`launched_at` datetime(3),
	`terminated_at` datetime(3),
	`created_at` datetime(3) NOT NULL,
	`updated_at` datetime(3) NOT NULL,
	`deleted_at` datetime(3),
	`missing_since` datetime(3),
	CONSTRAINT `server_index_server_id` PRIMARY KEY(`server_id`)
);
--> statement-breakpoint
CREATE TABLE `server_intents` (
	`serial` bigint AUTO_INCREMENT NOT NULL,
	`id` char(36) character set ascii collate ascii_bin NOT NULL,
	`server_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`action` varchar(8) character set ascii collate ascii_bin NOT NULL,
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`user_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`work` json NOT NULL,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `server_intents_serial` PRIMARY KEY(`serial`),
	CONSTRAINT `server_intents_id` UNIQUE(`id`),
	CONSTRAINT `server_intents_server` UNIQUE(`server_id`)
);
--> statement-breakpoint
CREATE TABLE `server_migrations` (
	`id` bigint AUTO_INCREMENT NOT NULL,
	`uuid` char(36) character set ascii collate ascii_bin NOT NULL,
	`server_id` char(36) character set ascii collate ascii_bin NOT NULL,
	`cell_id` char(36) character set ascii collate ascii_bin NOT NULL,
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
	CONSTRAINT `server_migrations_id` PRIMARY KEY(`id`),
	CONSTRAINT `server_migrations_uuid` UNIQUE(`uuid`)
);
--> statement-breakpoint
ALTER TABLE `port_security_groups` ADD CONSTRAINT `port_security_groups_security_group_id_security_groups_id_fk` FOREIGN KEY (`security_group_id`) REFERENCES `security_groups`(`id`) ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE `ports` ADD CONSTRAINT `ports_network_id_networks_id_fk` FOREIGN KEY (`network_id`) REFERENCES `networks`(`id`) ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX `aggregate_hosts_by_host` ON `aggregate_hosts` (`host_id`);--> statement-breakpoint
CREATE INDEX `audit_records_at` ON `audit_records` (`at`);--> statement-breakpoint
CREATE INDEX `audit_records_user` ON `audit_records` (`user_id`);--> statement-breakpoint
CREATE INDEX `audit_records_project` ON `audit_records` (`project_id`);--> statement-breakpoint
CREATE INDEX `audit_records_request` ON `audit_records` (`request_id`);--> statement-breakpoint
CREATE INDEX `audit_records_action` ON `audit_records` (`action`);--> statement-breakpoint
CREATE INDEX `bus_keys_by_cell` ON `bus_keys` (`cell_id`);--> statement-breakpoint
CREATE INDEX `bus_keys_by_host` ON `bus_keys` (`host_id`);--> statement-breakpoint
CREATE INDEX `cell_accounts_by_cell` ON `cell_accounts` (`cell_id`);--> statement-breakpoint
CREATE INDEX `cell_tunnels_by_other` ON `cell_tunnels` (`other_cell_id`);--> statement-breakpoint
CREATE INDEX `join_tokens_expire` ON `join_tokens` (`expires_at`);--> statement-breakpoint
CREATE INDEX `traces_created` ON `traces` (`created_at`);--> statement-breakpoint
CREATE INDEX `console_sessions_project` ON `console_sessions` (`project_id`,`alive_until`);--> statement-breakpoint
CREATE INDEX `console_sessions_server` ON `console_sessions` (`server_id`);--> statement-breakpoint
CREATE INDEX `console_sessions_expires` ON `console_sessions` (`expires_at`);--> statement-breakpoint
CREATE INDEX `events_project` ON `events` (`project_id`);--> statement-breakpoint
CREATE INDEX `events_server` ON `events` (`server_id`);--> statement-breakpoint
CREATE INDEX `events_cell` ON `events` (`cell_id`);--> statement-breakpoint
CREATE INDEX `events_type` ON `events` (`type`);--> statement-breakpoint
CREATE INDEX `application_credentials_project` ON `application_credentials` (`project_id`);--> statement-breakpoint
CREATE INDEX `catalog_endpoints_service` ON `catalog_endpoints` (`service_id`);--> statement-breakpoint
CREATE INDEX `catalog_endpoints_region` ON `catalog_endpoints` (`region_id`);--> statement-breakpoint
CREATE INDEX `credentials_user` ON `credentials` (`user_id`,`type`);--> statement-breakpoint
CREATE INDEX `credentials_project` ON `credentials` (`project_id`);--> statement-breakpoint
CREATE INDEX `group_members_user` ON `group_members` (`user_id`);--> statement-breakpoint
CREATE INDEX `own_limits_owner` ON `own_limits` (`owner_type`,`owner_id`);--> statement-breakpoint
CREATE INDEX `projects_parent` ON `projects` (`parent_id`);--> statement-breakpoint
CREATE INDEX `regions_parent` ON `regions` (`parent_region_id`);--> statement-breakpoint
CREATE INDEX `registered_limits_region` ON `registered_limits` (`region_id`);--> statement-breakpoint
CREATE INDEX `revocations_age` ON `revocations` (`created_at`);--> statement-breakpoint
CREATE INDEX `role_assignments_target` ON `role_assignments` (`target_type`,`target_id`);--> statement-breakpoint
CREATE INDEX `role_assignments_role` ON `role_assignments` (`role_id`);--> statement-breakpoint
CREATE INDEX `tokens_expiry` ON `tokens` (`expires_at`);--> statement-breakpoint
CREATE INDEX `tokens_user` ON `tokens` (`user_id`);--> statement-breakpoint
CREATE INDEX `tokens_credential` ON `tokens` (`application_credential_id`);--> statement-breakpoint
CREATE INDEX `tokens_trust` ON `tokens` (`trust_id`);--> statement-breakpoint
CREATE INDEX `tokens_scope` ON `tokens` (`scope_type`,`scope_id`);--> statement-breakpoint
CREATE INDEX `trusts_trustor` ON `trusts` (`trustor_user_id`);--> statement-breakpoint
CREATE INDEX `trusts_trustee` ON `trusts` (`trustee_user_id`);--> statement-breakpoint
CREATE INDEX `trusts_project` ON `trusts` (`project_id`);--> statement-breakpoint
CREATE INDEX `trusts_redelegated` ON `trusts` (`redelegated_trust_id`);--> statement-breakpoint
CREATE INDEX `trusts_expiry` ON `trusts` (`expires_at`);--> statement-breakpoint
CREATE INDEX `image_contents_by_count` ON `image_contents` (`image_count`);--> statement-breakpoint
CREATE INDEX `image_members_by_member` ON `image_members` (`member`,`status`);--> statement-breakpoint
CREATE INDEX `image_tags_by_tag` ON `image_tags` (`tag`);--> statement-breakpoint
CREATE INDEX `image_tasks_by_image` ON `image_tasks` (`image_id`);--> statement-breakpoint
CREATE INDEX `image_tasks_by_status` ON `image_tasks` (`status`,`created_at`);--> statement-breakpoint
CREATE INDEX `image_tasks_by_expiry` ON `image_tasks` (`expires_at`);--> statement-breakpoint
CREATE INDEX `images_by_server` ON `images` (`snapshot_of`);--> statement-breakpoint
CREATE INDEX `images_by_owner` ON `images` (`owner`,`created_at`);--> statement-breakpoint
CREATE INDEX `images_by_visibility` ON `images` (`visibility`,`created_at`);--> statement-breakpoint
CREATE INDEX `images_by_name` ON `images` (`name`);--> statement-breakpoint
CREATE INDEX `images_by_upload` ON `images` (`upload_expires_at`);--> statement-breakpoint
CREATE INDEX `networks_by_project` ON `networks` (`project_id`,`id`);--> statement-breakpoint
CREATE INDEX `networks_by_shared` ON `networks` (`shared`,`id`);--> statement-breakpoint
CREATE INDEX `port_addresses_by_port` ON `port_addresses` (`port_id`);--> statement-breakpoint
CREATE INDEX `port_addresses_by_address` ON `port_addresses` (`ip_address`);--> statement-breakpoint
CREATE INDEX `port_security_groups_by_group` ON `port_security_groups` (`security_group_id`);--> statement-breakpoint
CREATE INDEX `ports_by_machine_mac` ON `ports` (`machine_mac`);--> statement-breakpoint
CREATE INDEX `ports_by_device` ON `ports` (`device_id`,`nic_index`);--> statement-breakpoint
CREATE INDEX `ports_by_network` ON `ports` (`network_id`,`id`);--> statement-breakpoint
CREATE INDEX `ports_by_project` ON `ports` (`project_id`,`id`);--> statement-breakpoint
CREATE INDEX `rbac_policies_by_project` ON `rbac_policies` (`project_id`,`id`);--> statement-breakpoint
CREATE INDEX `rbac_policies_by_target` ON `rbac_policies` (`target`,`network_id`);--> statement-breakpoint
CREATE INDEX `released_addresses_by_time` ON `released_addresses` (`released_at`);--> statement-breakpoint
CREATE INDEX `security_group_rules_by_project` ON `security_group_rules` (`project_id`,`id`);--> statement-breakpoint
CREATE INDEX `security_group_rules_by_remote` ON `security_group_rules` (`remote_group_id`);--> statement-breakpoint
CREATE INDEX `security_groups_by_project` ON `security_groups` (`project_id`,`id`);--> statement-breakpoint
CREATE INDEX `subnet_pools_by_project` ON `subnet_pools` (`project_id`,`id`);--> statement-breakpoint
CREATE INDEX `subnet_pools_by_shared` ON `subnet_pools` (`shared`,`id`);--> statement-breakpoint
CREATE INDEX `subnets_by_network` ON `subnets` (`network_id`,`id`);--> statement-breakpoint
CREATE INDEX `subnets_by_project` ON `subnets` (`project_id`,`id`);--> statement-breakpoint
CREATE INDEX `subnets_by_pool` ON `subnets` (`subnetpool_id`);--> statement-breakpoint
CREATE INDEX `cell_sagas_by_id` ON `cell_sagas` (`id`);--> statement-breakpoint
CREATE INDEX `cell_sagas_ended` ON `cell_sagas` (`ended_at`);--> statement-breakpoint
CREATE INDEX `operations_state` ON `operations` (`state`);--> statement-breakpoint
CREATE INDEX `operations_ended` ON `operations` (`ended_at`);--> statement-breakpoint
CREATE INDEX `flavor_access_project` ON `flavor_access` (`project_id`);--> statement-breakpoint
CREATE INDEX `flavors_memory` ON `flavors` (`memory_mb`);--> statement-breakpoint
CREATE INDEX `flavors_root` ON `flavors` (`root_gb`);--> statement-breakpoint
CREATE INDEX `floating_ips_by_project` ON `floating_ips` (`project_id`,`id`);--> statement-breakpoint
CREATE INDEX `floating_ips_by_address` ON `floating_ips` (`floating_ip_address`);--> statement-breakpoint
CREATE INDEX `floating_ips_by_router` ON `floating_ips` (`router_id`);--> statement-breakpoint
CREATE INDEX `port_forwardings_by_router` ON `port_forwardings` (`router_id`);--> statement-breakpoint
CREATE INDEX `router_interfaces_by_port` ON `router_interfaces` (`port_id`);--> statement-breakpoint
CREATE INDEX `router_interfaces_by_subnet` ON `router_interfaces` (`subnet_id`);--> statement-breakpoint
CREATE INDEX `routers_by_project` ON `routers` (`project_id`,`id`);--> statement-breakpoint
CREATE INDEX `routers_by_gateway_network` ON `routers` (`gateway_network_id`);--> statement-breakpoint
CREATE INDEX `commit_markers_created_at` ON `commit_markers` (`created_at`);--> statement-breakpoint
CREATE INDEX `sagas_state` ON `sagas` (`state`,`resume_at`);--> statement-breakpoint
CREATE INDEX `server_group_members_by_group` ON `server_group_members` (`group_id`);--> statement-breakpoint
CREATE INDEX `server_groups_by_project` ON `server_groups` (`project_id`,`serial`);--> statement-breakpoint
CREATE INDEX `idempotency_keys_created` ON `idempotency_keys` (`created_at`);--> statement-breakpoint
CREATE INDEX `instance_mappings_cell` ON `instance_mappings` (`cell_id`);--> statement-breakpoint
CREATE INDEX `instance_mappings_resizing` ON `instance_mappings` (`is_resizing`);--> statement-breakpoint
CREATE INDEX `instance_mappings_kept` ON `instance_mappings` (`is_kept`);--> statement-breakpoint
CREATE INDEX `instance_mappings_project` ON `instance_mappings` (`project_id`);--> statement-breakpoint
CREATE INDEX `instance_mappings_not_built` ON `instance_mappings` (`is_not_built`);--> statement-breakpoint
CREATE INDEX `instance_mappings_deleting` ON `instance_mappings` (`is_deleting`);--> statement-breakpoint
CREATE INDEX `instance_mappings_saga` ON `instance_mappings` (`saga_id`);--> statement-breakpoint
CREATE INDEX `server_action_events_started` ON `server_action_events` (`started_at`);--> statement-breakpoint
CREATE INDEX `server_actions_started` ON `server_actions` (`started_at`);--> statement-breakpoint
CREATE INDEX `server_index_project` ON `server_index` (`project_id`,`deleted_at`,`created_at`,`server_id`);--> statement-breakpoint
CREATE INDEX `server_index_created` ON `server_index` (`deleted_at`,`created_at`,`server_id`);--> statement-breakpoint
CREATE INDEX `server_index_updated` ON `server_index` (`updated_at`);--> statement-breakpoint
CREATE INDEX `server_index_cell` ON `server_index` (`cell_id`);--> statement-breakpoint
CREATE INDEX `server_index_host` ON `server_index` (`host`);--> statement-breakpoint
CREATE INDEX `server_index_missing` ON `server_index` (`missing_since`);--> statement-breakpoint
CREATE INDEX `server_migrations_server` ON `server_migrations` (`server_id`);--> statement-breakpoint
CREATE INDEX `server_migrations_created` ON `server_migrations` (`created_at`,`id`);