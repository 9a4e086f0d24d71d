ALTER TABLE `hosts` ADD `fenced_at` datetime(3);--> statement-breakpoint
ALTER TABLE `hosts` ADD `fence_problem` text;