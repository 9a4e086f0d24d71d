import type { operations } from '#openapi/compute.gen.ts'
import { createFlavor as create } from '../../../app/flavors/create-flavor.ts'
import type { Handler } from '../../../http/operation.ts'
import { flavorView } from '../../../views/flavor.ts'

export const createFlavor: Handler<operations['createFlavor']> = async (call) => {
  const { app, context, links } = call
  const asked = call.body.flavor
  const flavor = await create(app.db, {
    id: asked.id ?? null,
    name: asked.name,
    vcpus: asked.vcpus,
    memoryMb: asked.ram,
    rootGb: asked.disk,
    ephemeralGb: asked['OS-FLV-EXT-DATA:ephemeral'] ?? 0,
    swapMb: asked.swap ?? 0,
    rxtxFactor: asked.rxtx_factor ?? 1,
    isPublic: asked['os-flavor-access:is_public'] ?? true,
    description: asked.description ?? null,
  })
  return { body: { flavor: flavorView(flavor, context, links) } }
}
