ALTER TABLE `server_index` MODIFY COLUMN `room` varchar(224) character set ascii collate ascii_bin;--> statement-breakpoint
ALTER TABLE `server_index` ADD `held` json;--> statement-breakpoint
ALTER TABLE `server_migrations` ADD `held` json;--> statement-breakpoint
CREATE INDEX `server_migrations_source` ON `server_migrations` (`source_host`);--> statement-breakpoint
CREATE INDEX `server_migrations_dest` ON `server_migrations` (`dest_host`);