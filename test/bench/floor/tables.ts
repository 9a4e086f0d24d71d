/** The floor's own tables: one per kind of write a boot makes. */
export const FLOOR_TABLES = [
  'create table floor_tokens (id varchar(64) primary key, project varchar(64) not null)',
  `create table floor_mappings (id char(36) primary key, project varchar(64) not null,
    deleting int not null default 0)`,
  `create table floor_servers (id char(36) primary key, project varchar(64) not null,
    state varchar(16) not null, doc json not null, key (project, state))`,
  `create table floor_instances (id char(36) primary key, state varchar(16) not null,
    doc json not null)`,
  'create table floor_quotas (project varchar(64) primary key, used int not null)',
  'create table floor_claims (id char(36) primary key, used int not null)',
  'create table floor_feed (id char(36) primary key, doc json not null)',
  'create table floor_hosts (id int primary key, used int not null)',
  "insert into floor_quotas values ('floor', 0)",
  'insert into floor_hosts values (0, 0), (1, 0), (2, 0), (3, 0)',
] as const
