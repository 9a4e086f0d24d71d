CREATE TABLE `image_owners` (
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`lock_version` bigint unsigned NOT NULL DEFAULT 0,
	CONSTRAINT `image_owners_project_id` PRIMARY KEY(`project_id`)
);
