/** SQL that MariaDB knows and MySQL 8 does not. */
export const MARIADB_ONLY =
  /begin not atomic|signal sqlstate|\bset statement\b|\) returning\b|\bcreate or replace table\b|\bseq_\d+_to_|\bjson_(?:query|exists|detailed|compact|loose)\(|\bfor system_time\b|\bnextval\(|\badd (?:column|index|key) if not exists\b/i

/** The one file that may contain it: another database needs another way to send statements together. */
export const MARIADB_FILE = 'common/db/compound.ts'
