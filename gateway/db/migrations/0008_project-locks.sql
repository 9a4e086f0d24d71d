CREATE TABLE `project_locks` (
	`project_id` varchar(64) character set ascii collate ascii_bin NOT NULL,
	`resource` varchar(16) character set ascii collate ascii_bin NOT NULL,
	`lock_version` bigint unsigned NOT NULL DEFAULT 0,
	CONSTRAINT `project_locks_project_id_resource_pk` PRIMARY KEY(`project_id`,`resource`)
);
