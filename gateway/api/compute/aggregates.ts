import type { operations } from '#openapi/compute.gen.ts'
import {
  allAggregates,
  cacheImages,
  createAggregate as create,
  deleteAggregate as remove,
  setAggregateMetadata as set,
  showAggregate as show,
  updateAggregate as update,
} from '../../app/aggregates/aggregates.ts'
import {
  addAggregateHost as add,
  removeAggregateHost as removeHost,
} from '../../app/aggregates/change-members.ts'
import type { Aggregate } from '../../db/aggregates.ts'
import type { Handler } from '../../http/operation.ts'
import { plainTime } from '../../views/time.ts'

const addAggregateHost: Handler<operations['addAggregateHost']> = async (call) => {
  const { app, context, params, body } = call
  const aggregate = await add(app.compute, context, params.aggregate_id, body.add_host.host)
  return { body: { aggregate: aggregateView(aggregate) } }
}

const cacheAggregateImages: Handler<operations['cacheAggregateImages']> = async (call) => {
  const { app, params, body } = call
  await cacheImages(
    app.db,
    params.aggregate_id,
    body.cache.map(({ id }) => id),
  )
  return {}
}

const createAggregate: Handler<operations['createAggregate']> = async ({ app, context, body }) => {
  const { name, availability_zone: zone = null } = body.aggregate
  const aggregate = await create(app.db, context, { name, zone })
  return { body: { aggregate: newAggregateView(aggregate) } }
}

const deleteAggregate: Handler<operations['deleteAggregate']> = async ({
  app,
  context,
  params,
}) => {
  await remove(app.db, context, params.aggregate_id)
  return {}
}

const listAggregates: Handler<operations['listAggregates']> = async ({ app }) => {
  const aggregates = await allAggregates(app.db)
  return { body: { aggregates: aggregates.map(aggregateView) } }
}

const removeAggregateHost: Handler<operations['removeAggregateHost']> = async (call) => {
  const { app, context, params, body } = call
  const aggregate = await removeHost(
    app.compute,
    context,
    params.aggregate_id,
    body.remove_host.host,
  )
  return { body: { aggregate: aggregateView(aggregate) } }
}

const setAggregateMetadata: Handler<operations['setAggregateMetadata']> = async (call) => {
  const { app, context, params, body } = call
  const aggregate = await set(app.compute, context, params.aggregate_id, body.set_metadata.metadata)
  return { body: { aggregate: aggregateView(aggregate) } }
}

const showAggregate: Handler<operations['showAggregate']> = async ({ app, params }) => {
  const aggregate = await show(app.db, params.aggregate_id)
  return { body: { aggregate: aggregateView(aggregate) } }
}

const updateAggregate: Handler<operations['updateAggregate']> = async (call) => {
  const { app, context, params, body } = call
  const { name, availability_zone: zone } = body.aggregate
  const aggregate = await update(app.compute, context, params.aggregate_id, {
    ...(name !== undefined && { name }),
    ...(zone !== undefined && { zone }),
  })
  return { body: { aggregate: aggregateView(aggregate) } }
}

export const aggregateHandlers = {
  addAggregateHost,
  cacheAggregateImages,
  createAggregate,
  deleteAggregate,
  listAggregates,
  removeAggregateHost,
  setAggregateMetadata,
  showAggregate,
  updateAggregate,
}

/** An aggregate as it is named when it is made. */
function newAggregateView({ id, uuid, name, metadata, createdAt, updatedAt }: Aggregate) {
  return {
    id,
    uuid,
    name,
    availability_zone: metadata['availability_zone'] ?? null,
    created_at: plainTime(createdAt),
    updated_at: updatedAt === null ? null : plainTime(updatedAt),
    deleted: false,
    deleted_at: null,
  }
}

/** An aggregate at its widest. */
function aggregateView(aggregate: Aggregate) {
  return {
    ...newAggregateView(aggregate),
    hosts: aggregate.hosts.map(({ name }) => name),
    metadata: aggregate.metadata,
  }
}
