CREATE TABLE `active_site` (
	`id` int NOT NULL,
	`name` varchar(32) character set ascii collate ascii_bin NOT NULL,
	`generation` int NOT NULL,
	`statement` text,
	`promoted_at` datetime(3) NOT NULL,
	`succeeded_by` varchar(32) character set ascii collate ascii_bin,
	`succeeded_url` varchar(255) character set ascii collate ascii_bin,
	`succeeded_generation` int,
	CONSTRAINT `active_site_id` PRIMARY KEY(`id`)
);
--> statement-breakpoint
CREATE TABLE `sites` (
	`name` varchar(32) character set ascii collate ascii_bin NOT NULL,
	`url` varchar(255) character set ascii collate ascii_bin NOT NULL,
	`database_servers` varchar(255) character set ascii collate ascii_bin NOT NULL,
	`created_at` datetime(3) NOT NULL,
	CONSTRAINT `sites_name` PRIMARY KEY(`name`)
);
