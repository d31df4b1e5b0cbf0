/** Methods of services: a use case that acts for the caller, and how the response is made of its result. */
import type { HandlerContext } from '@connectrpc/connect'
import type { Actor } from '../../domain/identities/authority.ts'
import type { ListPage } from '../messages/paging.ts'
import { actorOf } from './actor.ts'

type UseCase<Request, Result> = (actor: Actor, req: Request, context: HandlerContext) => Promise<Result>

/** Methods with the same kind of response. */
export function answering<Result, Response>(answer: (result: Result) => Response) {
  return <Request>(useCase: UseCase<Request, Result>) =>
    async (req: Request, context: HandlerContext): Promise<Response> =>
      answer(await useCase(actorOf(context), req, context))
}

/** Methods with an empty response. */
export const done = answering(() => ({}))

/** A method that lists. @param name The field of the response with the page. @param from Makes a message of an item. */
export function listing<Name extends string, Item, Message, Request>(
  name: Name,
  from: (item: Item) => Message,
  read: UseCase<Request, ListPage<Item>>,
) {
  const answer = ({ items, nextPageToken }: ListPage<Item>) => ({ [name]: items.map(from), nextPageToken })
  return answering(answer as (page: ListPage<Item>) => Record<Name, Message[]> & { nextPageToken: string })(read)
}
