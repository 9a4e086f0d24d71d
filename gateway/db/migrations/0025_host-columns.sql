ALTER TABLE `host_index` ADD `is_deleted` boolean GENERATED ALWAYS AS (json_value(view, '$.isDeleted') = '1') STORED;--> statement-breakpoint
ALTER TABLE `host_index` ADD `is_up` boolean GENERATED ALWAYS AS (json_value(view, '$.isUp') = '1') STORED;--> statement-breakpoint
ALTER TABLE `host_index` ADD `capabilities` text GENERATED ALWAYS AS (json_extract(view, '$.capabilities')) STORED;