ALTER TABLE `images` ADD `changes_of` char(36) character set ascii collate ascii_bin;--> statement-breakpoint
ALTER TABLE `server_moves` ADD `copy_image_id` char(36) character set ascii collate ascii_bin;--> statement-breakpoint
ALTER TABLE `server_moves` ADD `copy_host_id` char(36) character set ascii collate ascii_bin;--> statement-breakpoint
ALTER TABLE `server_moves` ADD `copied_bytes` bigint;--> statement-breakpoint
ALTER TABLE `server_moves` ADD `saved_bytes` bigint;--> statement-breakpoint
CREATE INDEX `images_by_changes_of` ON `images` (`changes_of`);