import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { bigint, customType, datetime, varchar } from 'drizzle-orm/mysql-core'

/** A UUID as 36 ASCII characters: readable in any client, compared bytewise. */
export const uuid = (name: string) =>
  customType<{ data: string; driverData: string }>({
    dataType: () => 'char(36) character set ascii collate ascii_bin',
  })(name)

/** Short machine-made text: states, kinds, names of steps. */
export const token = (name: string, length = 64) =>
  customType<{ data: string; driverData: string }>({
    dataType: () => `varchar(${length}) character set ascii collate ascii_bin`,
  })(name)

/**
 * Like `token`, but never null and of a fixed width; '' stands for no value. A row that grows is moved within its page,
 * and in a full page this costs a page of the redo log.
 */
export const fixedToken = (name: string, length: number) =>
  customType<{ data: string; driverData: string }>({
    dataType: () => `char(${length}) character set ascii collate ascii_bin`,
  })(name)

/** Text from a user: any Unicode, compared exactly. */
export const text255 = (name: string) => varchar(name, { length: 255 })

/** UTC, milliseconds. */
export const time = (name: string) => datetime(name, { mode: 'date', fsp: 3 })

/**
 * True for a time at least a minute in the future that the database's own clock wrote: the clock was set back since. A
 * wait that counts from such a time would last as long as the clock had been ahead.
 */
export const isInFuture = (column: SQLWrapper): SQL => sql`${column} > now(3) + interval 60 second`

/** Grows with every lock of the row (`lockRows`). */
export const lockVersion = () =>
  bigint('lock_version', { mode: 'number', unsigned: true }).notNull().default(0)
