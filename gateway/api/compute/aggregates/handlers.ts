import { addAggregateHost } from './add-aggregate-host.ts'
import { cacheAggregateImages } from './cache-aggregate-images.ts'
import { createAggregate } from './create-aggregate.ts'
import { deleteAggregate } from './delete-aggregate.ts'
import { listAggregates } from './list-aggregates.ts'
import { removeAggregateHost } from './remove-aggregate-host.ts'
import { setAggregateMetadata } from './set-aggregate-metadata.ts'
import { showAggregate } from './show-aggregate.ts'
import { updateAggregate } from './update-aggregate.ts'

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
