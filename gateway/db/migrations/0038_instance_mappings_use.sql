CREATE INDEX `instance_mappings_use` ON `instance_mappings` (`project_id`,`is_charged`,`cell_id`,`cores`,`ram_mb`);--> statement-breakpoint
DROP INDEX `instance_mappings_project` ON `instance_mappings`;
