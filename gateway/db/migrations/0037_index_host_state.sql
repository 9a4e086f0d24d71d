ALTER TABLE `host_index` ADD `is_forced_down` boolean GENERATED ALWAYS AS (json_value(view, '$.isForcedDown') = '1') STORED;--> statement-breakpoint
ALTER TABLE `host_index` ADD `zone` varchar(255) GENERATED ALWAYS AS (left(json_value(view, '$.zone'), 255)) STORED;--> statement-breakpoint
CREATE INDEX `host_index_name` ON `host_index` (`name`);--> statement-breakpoint
CREATE INDEX `host_index_state` ON `host_index` (`is_deleted`,`cell_id`,`zone`,`is_up`,`is_forced_down`);