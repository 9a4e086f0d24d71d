import { and, asc, eq } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import type { ImageMemberStatus } from '#common/states/image-states.ts'
import { imageMembers } from './schema/image.ts'

/** A project an image is shared with. */
export interface ImageMember {
  readonly imageId: string
  readonly member: string
  readonly status: ImageMemberStatus
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** The members of an image, oldest first. */
export async function listMembers(db: Executor, imageId: string): Promise<readonly ImageMember[]> {
  const rows = await db.orm
    .select()
    .from(imageMembers)
    .where(eq(imageMembers.imageId, imageId))
    .orderBy(asc(imageMembers.createdAt), asc(imageMembers.member))
  return rows.map(memberOf)
}

export async function findMember(
  db: Executor,
  imageId: string,
  member: string,
): Promise<ImageMember | undefined> {
  const [row] = await db.orm.select().from(imageMembers).where(isMember(imageId, member))
  return row === undefined ? undefined : memberOf(row)
}

/** Throws the database's duplicate error for a member that is there. */
export async function insertMember(tx: Tx, member: ImageMember): Promise<void> {
  await tx.orm.insert(imageMembers).values(member)
}

/** False when the project is not a member. */
export async function updateMember(
  db: Executor,
  member: Pick<ImageMember, 'imageId' | 'member' | 'status' | 'updatedAt'>,
): Promise<boolean> {
  const { imageId, status, updatedAt } = member
  const [result] = await db.orm
    .update(imageMembers)
    .set({ status, updatedAt })
    .where(isMember(imageId, member.member))
  return result.affectedRows === 1
}

/** False when the project was no member. */
export async function deleteMember(
  db: Executor,
  imageId: string,
  member: string,
): Promise<boolean> {
  const [result] = await db.orm.delete(imageMembers).where(isMember(imageId, member))
  return result.affectedRows === 1
}

function isMember(imageId: string, member: string) {
  return and(eq(imageMembers.imageId, imageId), eq(imageMembers.member, member))
}

function memberOf(row: typeof imageMembers.$inferSelect): ImageMember {
  return { ...row, status: row.status as ImageMemberStatus }
}
