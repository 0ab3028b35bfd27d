/* A child of the benchmark: produce requests over raw connections, as fast as a broker answers them.

       load PORT CONNECTIONS UNDER_WAY SECONDS ERROR_AT < FRAME

   Sends the frame again and again, with a correlation id of its own each time; so many are under way on each of the
   connections. Every answer must have the id that is due, and no error at that byte. Nothing is allocated on the way:
   the client should cost as little as can be beside the broker that is measured. Built by load.py. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    CONNECTIONS_MAX = 1024,
    UNDER_WAY_MAX = 64,
    FRAME_SIZE_MAX = 4 << 20,
    ANSWER_SIZE_MAX = 4096,
    ID_AT = 8,            /* Of the correlation id, in a request. */
    EVENTS_MAX = 64,
    FINE = 32,            /* Steps of the histogram within a doubling: 3 % each. */
    DOUBLINGS = 40,       /* From a nanosecond to 18 minutes. */
};

struct connection {
    int link;
    uint32_t sent_ids, answered_ids;  /* Ids are given from 0 on, and answered in the same order. */
    uint32_t due;                     /* Requests that are to be sent, and the one that is half sent. */
    size_t sent;                      /* Bytes of that one. */
    size_t got;                       /* Bytes of the next answer. */
    int waits_to_send;
    int64_t began_at[UNDER_WAY_MAX];
    unsigned char answers[ANSWER_SIZE_MAX];
};

static struct connection connections[CONNECTIONS_MAX];
static unsigned char frame[FRAME_SIZE_MAX];
static size_t frame_size;
static uint64_t counts[DOUBLINGS * FINE];
static int poll_link;

static void fail(const char *what) {
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void note(int64_t ns) {
    int doubling = ns < FINE ? 0 : 63 - __builtin_clzll((uint64_t)ns) - 4;
    int fine = (int)(doubling ? (ns >> (doubling - 1)) - FINE : ns);
    int slot = doubling * FINE + fine;
    counts[slot < DOUBLINGS * FINE ? slot : DOUBLINGS * FINE - 1]++;
}

static double percentile_ms(uint64_t all, double part) {
    uint64_t wanted = (uint64_t)((double)all * part), seen = 0;
    for (int slot = 0; slot < DOUBLINGS * FINE; slot++) {
        seen += counts[slot];
        if (seen > wanted) {
            int doubling = slot / FINE, fine = slot % FINE;
            double low = doubling ? (double)((int64_t)(FINE + fine) << (doubling - 1)) : fine;
            return low / 1e6;
        }
    }
    return 0;
}

static void watch(struct connection *each, int to_send) {
    if (each->waits_to_send == to_send)
        return;
    struct epoll_event event = {.events = EPOLLIN | (to_send ? EPOLLOUT : 0), .data.ptr = each};
    if (epoll_ctl(poll_link, EPOLL_CTL_MOD, each->link, &event) < 0)
        fail("epoll_ctl");
    each->waits_to_send = to_send;
}

static void send_due(struct connection *each, uint32_t under_way) {
    while (each->due) {
        if (!each->sent)
            each->began_at[each->sent_ids % under_way] = now_ns();
        uint32_t id = htonl(each->sent_ids);
        struct iovec parts[3] = {{frame, ID_AT}, {&id, 4}, {frame + ID_AT + 4, frame_size - ID_AT - 4}};
        size_t skip = each->sent;
        int first = 0;
        while (first < 2 && skip >= parts[first].iov_len)
            skip -= parts[first++].iov_len;
        parts[first].iov_base = (char *)parts[first].iov_base + skip;
        parts[first].iov_len -= skip;
        struct msghdr message = {.msg_iov = parts + first, .msg_iovlen = 3 - (size_t)first};
        ssize_t done = sendmsg(each->link, &message, MSG_NOSIGNAL);
        if (done < 0 && errno == EAGAIN) {
            watch(each, 1);
            return;
        }
        if (done < 0)
            fail("send");
        each->sent += (size_t)done;
        if (each->sent == frame_size) {
            each->sent = 0;
            each->sent_ids++;
            each->due--;
        }
    }
    watch(each, 0);
}

static uint32_t number_at(const unsigned char *bytes) {
    uint32_t number;
    memcpy(&number, bytes, 4);
    return ntohl(number);
}

/* How many answers have come. */
static uint32_t receive(struct connection *each, uint32_t under_way, size_t error_at) {
    ssize_t more = recv(each->link, each->answers + each->got, ANSWER_SIZE_MAX - each->got, 0);
    if (more < 0 && errno == EAGAIN)
        return 0;
    if (more <= 0)
        fail("the broker has closed a connection");
    each->got += (size_t)more;
    int64_t now = now_ns();
    uint32_t answered = 0;
    size_t at = 0;
    while (each->got - at >= 8) {
        const unsigned char *answer = each->answers + at;
        size_t size = 4 + number_at(answer);
        if (size > ANSWER_SIZE_MAX || size < error_at + 2) {
            fprintf(stderr, "load: an answer of %zu bytes\n", size);
            exit(1);
        }
        if (each->got - at < size)
            break;
        if (number_at(answer + 4) != each->answered_ids) {
            fprintf(stderr, "load: an answer is out of order\n");
            exit(1);
        }
        if (answer[error_at] || answer[error_at + 1]) {
            fprintf(stderr, "load: error code %d\n", answer[error_at] << 8 | answer[error_at + 1]);
            exit(1);
        }
        note(now - each->began_at[each->answered_ids % under_way]);
        each->answered_ids++;
        answered++;
        at += size;
    }
    each->got -= at;
    memmove(each->answers, each->answers + at, each->got);
    return answered;
}

static void open_link(struct connection *each, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int one = 1;
    each->link = socket(AF_INET, SOCK_STREAM, 0);
    if (each->link < 0 || connect(each->link, (struct sockaddr *)&address, sizeof address) < 0)
        fail("connect");
    setsockopt(each->link, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(each->link, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = each};
    if (epoll_ctl(poll_link, EPOLL_CTL_ADD, each->link, &event) < 0)
        fail("epoll_ctl");
}

int main(int count, char **words) {
    if (count != 6) {
        fprintf(stderr, "load PORT CONNECTIONS UNDER_WAY SECONDS ERROR_AT < FRAME\n");
        return 2;
    }
    int port = atoi(words[1]), links = atoi(words[2]);
    uint32_t under_way = (uint32_t)atoi(words[3]);
    double seconds = atof(words[4]);
    size_t error_at = (size_t)atoi(words[5]);
    if (links < 1 || links > CONNECTIONS_MAX || under_way < 1 || under_way > UNDER_WAY_MAX)
        return 2;
    frame_size = fread(frame, 1, FRAME_SIZE_MAX, stdin);
    poll_link = epoll_create1(0);
    for (int number = 0; number < links; number++)
        open_link(&connections[number], port);
    int64_t began = now_ns(), end = began + (int64_t)(seconds * 1e9);
    uint64_t answered = 0, waiting = (uint64_t)links * under_way;
    for (int number = 0; number < links; number++) {
        connections[number].due = under_way;
        send_due(&connections[number], under_way);
    }
    struct epoll_event events[EVENTS_MAX];
    while (waiting) {
        int found = epoll_wait(poll_link, events, EVENTS_MAX, -1);
        int is_over = now_ns() >= end;
        for (int number = 0; number < found; number++) {
            struct connection *each = events[number].data.ptr;
            if (events[number].events & ~(uint32_t)EPOLLOUT) {
                uint32_t more = receive(each, under_way, error_at);
                answered += more;
                if (is_over)
                    waiting -= more;
                else
                    each->due += more;
            }
            if (each->due)
                send_due(each, under_way);
        }
    }
    double took = (double)(now_ns() - began) / 1e9;
    printf("requests=%llu requests_per_second=%.1f p50_ms=%.4f p99_ms=%.4f p999_ms=%.4f\n", (unsigned long long)answered,
           (double)answered / took, percentile_ms(answered, 0.5), percentile_ms(answered, 0.99),
           percentile_ms(answered, 0.999));
    return 0;
}
