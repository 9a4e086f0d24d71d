import { Counter, Gauge, type Registry } from 'prom-client'
import { type Admission, WORK_KINDS } from '../app/admission.ts'

/** Afterwards the metrics have how many requests of each kind are handled, wait for their turn, and were refused one. */
export function observeAdmission(registry: Registry, admission: Admission): void {
  const labelNames = ['kind']
  const registers = [registry]
  const observe = (state: 'running' | 'waiting', name: string, help: string) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        for (const kind of WORK_KINDS) this.set({ kind }, admission.count(kind)[state])
      },
    })
  observe('running', 'weir_requests_in_progress', 'Requests that have had their turn')
  observe('waiting', 'weir_requests_waiting', 'Requests that wait for the turn of their project')
  new Counter({
    name: 'weir_requests_refused_total',
    help: 'Requests that were refused because too many waited, or waited for too long',
    labelNames,
    registers,
    collect() {
      this.reset()
      for (const kind of WORK_KINDS) this.inc({ kind }, admission.count(kind).refused)
    },
  })
}
