import type { operations } from '#openapi/network.gen.ts'
import {
  createSubnetPools,
  deleteSubnetPool,
  updateSubnetPool,
} from '../../app/networks/change-subnet-pools.ts'
import { listSubnetPools, visibleSubnetPool } from '../../app/networks/subnet-pools.ts'
import type { SubnetPool } from '../../db/subnet-pools.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { queryPairs } from '../../http/query-pairs.ts'
import { describedView } from '../../views/network/described.ts'
import { pageBody } from './page-body.ts'
import { oneOrSeveral, pick, wantedRevision } from './request.ts'

type List = operations['listSubnetPools']
type Create = operations['createSubnetPool']
type Show = operations['showSubnetPool']
type Update = operations['updateSubnetPool']
type Delete = operations['deleteSubnetPool']

async function list(call: Call<List>): Promise<Answer<List>> {
  const { app, context, raw } = call
  const page = await listSubnetPools(app.networks, context, queryPairs(raw.search))
  return { body: pageBody(call, 'subnetpools', page, subnetPoolView) }
}

async function create({ app, context, body }: Call<Create>): Promise<Answer<Create>> {
  const { subnetpool: one, subnetpools: several } = body
  const answer = await oneOrSeveral({ one, several }, async (drafts) => {
    const made = await createSubnetPools(app.networks, context, drafts)
    return made.map(subnetPoolView)
  })
  return { body: { subnetpool: answer.one, subnetpools: answer.several } }
}

async function show({ app, context, params, query }: Call<Show>): Promise<Answer<Show>> {
  const found = await visibleSubnetPool(app.networks, context, params.subnetpool_id)
  return { body: { subnetpool: pick(subnetPoolView(found), query.fields) } }
}

async function update(call: Call<Update>): Promise<Answer<Update>> {
  const { app, context, params, body, raw } = call
  const id = params.subnetpool_id
  const wanted = wantedRevision(raw)
  const changed = await updateSubnetPool(app.networks, context, id, body.subnetpool, wanted)
  return { body: { subnetpool: subnetPoolView(changed) } }
}

async function remove({ app, context, params, raw }: Call<Delete>): Promise<Answer<Delete>> {
  await deleteSubnetPool(app.networks, context, params.subnetpool_id, wantedRevision(raw))
  return {}
}

/** What openapi/network/floating-ips.yaml describes. */
export const subnetPoolHandlers = {
  listSubnetPools: list,
  createSubnetPool: create,
  showSubnetPool: show,
  updateSubnetPool: update,
  deleteSubnetPool: remove,
}

function subnetPoolView(pool: SubnetPool) {
  return {
    ...describedView(pool),
    ip_version: pool.ipVersion,
    prefixes: pool.prefixes,
    default_prefixlen: pool.defaultLength,
    min_prefixlen: pool.minLength,
    max_prefixlen: pool.maxLength,
    default_quota: pool.projectQuota,
    shared: pool.isShared,
    is_default: pool.isDefault,
    address_scope_id: null,
  }
}
