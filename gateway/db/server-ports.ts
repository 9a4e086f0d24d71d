import { and, eq, sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import { ports } from './schema/network.ts'

const { placeholder } = sql

export interface Binding {
  readonly portId: string
  readonly deviceId: string
  readonly deviceOwner: string
  readonly nicIndex: number
  readonly nicTag: string | null
  readonly now: Date
}

const BIND = statement(
  builder
    .update(ports)
    .set({
      deviceId: sql`${placeholder('deviceId')}`,
      deviceOwner: sql`${placeholder('deviceOwner')}`,
      nicIndex: sql`${placeholder('nicIndex')}`,
      nicTag: sql`${placeholder('nicTag')}`,
      updatedAt: sql`${placeholder('now')}`,
      revision: sql`${ports.revision} + 1`,
    })
    .where(and(eq(ports.id, placeholder('portId')), eq(ports.deviceId, ''))),
)

/** Gives a free port to the device; false when it has one, or is gone. */
export async function bindPort(tx: Tx, binding: Binding): Promise<boolean> {
  return (await tx.run(BIND, { ...binding })).affectedRows === 1
}

const UNBIND = statement(
  builder
    .update(ports)
    .set({
      deviceId: '',
      deviceOwner: '',
      nicIndex: 0,
      nicTag: null,
      hostName: '',
      status: 'DOWN',
      updatedAt: sql`${placeholder('now')}`,
      revision: sql`${ports.revision} + 1`,
    })
    .where(and(eq(ports.deviceId, placeholder('deviceId')), eq(ports.isBootMade, sql`FALSE`))),
)

/** Afterwards no port that a user made belongs to the device. */
export async function unbindUserPorts(tx: Tx, deviceId: string, now: Date): Promise<void> {
  await tx.run(UNBIND, { deviceId, now })
}

const BOOT_MADE = statement(
  builder
    .select({ id: ports.id, projectId: ports.projectId })
    .from(ports)
    .where(and(eq(ports.deviceId, placeholder('deviceId')), eq(ports.isBootMade, sql`TRUE`)))
    .for('update'),
)

/** The ports made for the device, held until the transaction ends. */
export async function holdBootMadePorts(
  tx: Tx,
  deviceId: string,
): Promise<readonly { readonly id: string; readonly projectId: string }[]> {
  const rows = await tx.rows<{ id: string; project_id: string }>(BOOT_MADE, { deviceId })
  return rows.map((row) => ({ id: row.id, projectId: row.project_id }))
}

const DELETE_PORT = statement(builder.delete(ports).where(eq(ports.id, placeholder('portId'))))

export async function deleteBootMadePort(tx: Tx, portId: string): Promise<void> {
  await tx.run(DELETE_PORT, { portId })
}

const RECORD_HOST = statement(
  builder
    .update(ports)
    .set({
      hostName: sql`${placeholder('hostName')}`,
      status: sql`${placeholder('status')}`,
      updatedAt: sql`${placeholder('now')}`,
      revision: sql`${ports.revision} + 1`,
    })
    .where(eq(ports.deviceId, placeholder('deviceId'))),
)

/** Afterwards the device's ports say which host they are on and whether they work there. */
export async function recordPortHost(
  tx: Tx,
  deviceId: string,
  at: {
    readonly hostName: string
    readonly status: 'ACTIVE' | 'DOWN' | 'BUILD'
    readonly now: Date
  },
): Promise<void> {
  await tx.run(RECORD_HOST, { deviceId, ...at })
}
