ALTER TABLE `volume_types` ADD `encryption` json;--> statement-breakpoint
ALTER TABLE `volumes` ADD `encryption` json;