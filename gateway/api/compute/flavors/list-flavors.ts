import type { operations } from '#openapi/compute.gen.ts'
import type { Handler } from '../../../http/operation.ts'
import { flavorSummary } from '../../../views/flavor.ts'
import { flavorPage } from './flavor-page.ts'

export const listFlavors: Handler<operations['listFlavors']> = async (call) => ({
  body: await flavorPage(call, (flavor) => flavorSummary(flavor, call.links)),
})
