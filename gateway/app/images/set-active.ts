import { Failure } from '#common/errors.ts'
import { changeImageStatus } from '../../db/images.ts'
import type { Requester } from '../requester.ts'
import type { Images } from './images.ts'
import { ownImage } from './visible-image.ts'

/** Afterwards only administrators can read the content, and no server can boot from it. Throws `forbidden` without content. */
export async function deactivateImage(
  images: Images,
  requester: Requester,
  id: string,
): Promise<void> {
  await change(images, requester, id, 'deactivated')
}

/** Afterwards the image can be used again. Throws `forbidden` without content. */
export async function reactivateImage(
  images: Images,
  requester: Requester,
  id: string,
): Promise<void> {
  await change(images, requester, id, 'active')
}

type Usability = 'active' | 'deactivated'

async function change(images: Images, requester: Requester, id: string, to: Usability) {
  const image = await ownImage(images, requester, id, 'change the state of')
  if (image.status === to) return
  const from: Usability = to === 'active' ? 'deactivated' : 'active'
  const now = new Date(images.clock.now())
  if (await changeImageStatus(images.db, { id, from, to, now })) return
  throw new Failure('forbidden', `Not allowed to make an image ${to} that is ${image.status}.`)
}
