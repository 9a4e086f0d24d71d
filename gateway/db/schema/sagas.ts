export { leases, sagaEvents, sagas } from '#common/saga/schema.ts'
