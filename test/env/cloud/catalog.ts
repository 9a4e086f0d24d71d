import type { Session } from '#deploy/api/session.ts'
import { DEMO_FLAVORS, ensureFlavors } from '#deploy/catalog/ensure-flavors.ts'
import { ensureImage, simulatedImage } from '#deploy/catalog/ensure-image.ts'
import { ensureNetwork } from '#deploy/catalog/ensure-network.ts'
import type { Cloud } from '../cloud.ts'

/** Ids of the demo's image, network and smallest flavors, and of its project. */
export interface Catalog {
  readonly image: string
  readonly network: string
  /** 1 vCPU, 128 MiB, 1 GB. */
  readonly tiny: string
  /** 1 vCPU, 512 MiB, 5 GB. */
  readonly small: string
}

/** Afterwards the demo's flavors, image and network exist, made as the launcher makes them. */
export async function makeCatalog(cloud: Cloud): Promise<Catalog> {
  const admin = cloud.as('admin')
  const [endpoint] = cloud.endpoints
  if (endpoint === undefined) throw new Error('The cloud has no gateway')
  const session: Session = { endpoint, token: await admin.token() }
  await ensureFlavors(session)
  await ensureImage(session, simulatedImage)
  await ensureNetwork(session)
  const images = await admin.get<{ images: readonly [{ id: string }] }>(
    `/image/v2/images?name=${simulatedImage.name}`,
  )
  const networks = await admin.get<{ networks: readonly [{ id: string }] }>(
    '/networking/v2.0/networks?name=private',
  )
  return {
    image: images.body.images[0].id,
    network: networks.body.networks[0].id,
    tiny: flavorId('m1.tiny'),
    small: flavorId('m1.small'),
  }
}

function flavorId(name: string): string {
  const flavor = DEMO_FLAVORS.find((each) => each.name === name)
  if (flavor === undefined) throw new Error(`The demo has no flavor ${name}`)
  return flavor.id
}
